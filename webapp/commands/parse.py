"""`fencepost parse`: run one profile, or all, over one response or a file of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import click

from webapp import fitting, jsontext
from webapp.commands import _terminal
from webapp.commands._arguments import PROFILE, open_bytes, read_text, runnable, to_text
from webapp.parsing import Profile, Trace, parse, profiles, readings, why_absent

ALL = "all"


class BadLine(ValueError):
    """A line is not `{"id", "text"}`; `line_id` is its id where that could be read."""

    def __init__(self, message: str, line_id: Any = None) -> None:
        super().__init__(message)
        self.line_id = line_id


@click.command("parse")
@click.option(
    "--profile",
    "name",
    type=PROFILE,
    default="fencepost",
    show_default=True,
    metavar="P",
    help="The profile, `all`, or a parser of your own: pkg.mod:function.",
)
@click.option("--phase", metavar="PHASE", help="Also validate the values against the JSON Schema of this phase.")
@click.option("--json", "as_json", is_flag=True, help="Print the trace as one JSON document; with `all`, a list.")
@click.option("--jsonl", is_flag=True, help='Read {"id", "text"} lines, write {"id", …trace} lines.')
@click.argument("file", default="-", metavar="[FILE|-]")
def command(name: str, phase: str | None, as_json: bool, jsonl: bool, file: str) -> None:
    """Parse the response in FILE, or on standard input, and show every attempt.

    Bytes that are not UTF-8 become U+FFFD, and standard error says so. With --jsonl, an invalid line gets the answer
    {"id", "error"} and the rest is still read.

    Exits with 0 when a value was read (--profile all: by any profile, and more than prose in quotes; --jsonl: every
    line was parsed, whatever its verdict), with 1 when none was (verdict failed or none; --jsonl: a line was bad),
    with 2 when used wrongly.
    """
    chosen = _profiles(name)
    with open_bytes(file) as source:
        if jsonl:
            sys.exit(1 if _parse_lines(source, file, chosen) else 0)
        raw = read_text(source, file)
    traces = [*map(readings(raw), chosen)]
    if as_json:
        documents = [_document(trace, phase) for trace in traces]
        _print_json(documents if name == ALL else documents[0])
    else:
        if name == ALL:
            _terminal.print_table(traces)
        else:
            _terminal.print_trace(raw, traces[0])
        _terminal.put(*_misfits(traces, phase))
    sys.exit(0 if any(trace.values and not (name == ALL and trace.is_quoted_prose) for trace in traces) else 1)


def _profiles(name: str) -> Sequence[Profile]:
    if name == ALL:
        for reason in filter(None, map(why_absent, profiles().values())):
            click.echo(f"not run: {reason}", err=True)
        return [entry for entry in profiles().values() if not why_absent(entry)]
    return [runnable(name, f", {ALL}")]


def _document(trace: Trace, phase: str | None) -> dict[str, Any]:
    """The trace, and where there is a schema what does not fit it."""
    if not fitting.is_held(trace.profile, phase):
        return trace.as_dict()
    misfits = fitting.misfits(trace.values, trace.profile, phase)
    return trace.as_dict() | {"misfits": [misfit._asdict() for misfit in misfits]}


def _misfits(traces: Sequence[Trace], phase: str | None) -> Iterator[str]:
    for trace in traces:
        for misfit in fitting.misfits(trace.values, trace.profile, phase):
            yield f"{trace.profile}: value {misfit.value + 1} {misfit.sentence}"


def _print_json(document: object) -> None:
    try:
        click.echo(jsontext.portable(document))
    except RecursionError:
        click.echo("the value is nested too deep to be written as JSON", err=True)
        sys.exit(1)


def _parse_lines(source: BinaryIO, name: str, profiles: Sequence[Profile]) -> int:
    """Write `{"id", …trace}` for each line and profile to standard output; returns the number of bad lines."""
    bad = 0
    write = sys.stdout.write
    for number, line in enumerate(source, 1):
        if not line.strip():
            continue
        try:
            key, text = _read(to_text(line, f"line {number}"))
        except BadLine as problem:
            bad += 1
            click.echo(f"{name}, line {number}: {problem}", err=True)
            error = {"code": "bad_line", "message": str(problem), "at": number}
            write(f"{jsontext.portable({'id': problem.line_id, 'error': error})}\n")
            continue
        for profile in profiles:
            write(f"{jsontext.portable({'id': key} | parse(text, profile).as_dict())}\n")
    return bad


def _read(line: str) -> tuple[Any, str]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadLine(f"not JSON: {error}") from None
    if not isinstance(entry, dict):
        raise BadLine(f'must be an object with "id" and "text", not {type(entry).__name__}')
    if "id" not in entry:
        raise BadLine('has no "id"')
    if not isinstance(entry.get("text"), str):
        raise BadLine('has no "text"' if "text" not in entry else '"text" is not a string', entry["id"])
    return entry["id"], entry["text"]
