"""`fencepost parse`: run one profile, or all, over one response or a file of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Any, BinaryIO

import click

from webapp import jsontext
from webapp.commands import _words
from webapp.commands._input import open_bytes, to_text
from webapp.parsing import Profile, Trace, UnknownProfile, parse, profile, profiles

ALL = "all"


@click.command("parse", short_help="Parse one response, or many, and show the trace.")
@click.option("--profile", "name", default="fencepost", show_default=True, metavar="P", help="The profile, or `all`.")
@click.option("--json", "as_json", is_flag=True, help="Print the trace as one JSON document; with `all`, a list.")
@click.option("--jsonl", is_flag=True, help='Read {"id", "text"} lines, write {"id", …trace} lines.')
@click.argument("file", default="-", metavar="[FILE|-]")
def command(name: str, as_json: bool, jsonl: bool, file: str) -> None:
    """Parse the response in FILE, or on standard input, and show every attempt.

    Bytes that are not UTF-8 become U+FFFD, and standard error says so. With --jsonl a bad line is answered
    with {"id", "error"} and does not stop the rest; a bar shows how far it is where standard error is a
    terminal and the output is not.

    Exits with 0 when a value was read (--profile all: by any profile; --jsonl: every line was parsed, whatever
    its verdict), with 1 when none was (verdict failed or none; --jsonl: a line was bad), with 2 when used wrongly.
    """
    chosen = _profiles(name)
    with open_bytes(file) as source:
        if jsonl:
            sys.exit(1 if _bulk(source, file, chosen) else 0)
        raw = to_text(source.read(), "standard input" if file == "-" else click.format_filename(file))
    traces = [parse(raw, one) for one in chosen]
    if as_json:
        _print_json([trace.as_dict() for trace in traces] if name == ALL else traces[0].as_dict())
    else:
        _print_readable(raw, traces, name == ALL)
    sys.exit(0 if any(trace.values for trace in traces) else 1)


def _profiles(name: str) -> Sequence[Profile]:
    if name == ALL:
        return list(profiles().values())
    try:
        return [profile(name)]
    except UnknownProfile as unknown:
        raise click.UsageError(f"{unknown}, {ALL}") from None


def _bulk(source: BinaryIO, file: str, chosen: Sequence[Profile]) -> int:
    from webapp.commands._bulk import parse_lines

    return parse_lines(source, file, chosen)


def _print_json(document: object) -> None:
    try:
        click.echo(jsontext.dumps(document))
    except RecursionError:
        click.echo("the value is nested too deep to be written as JSON", err=True)
        sys.exit(1)


def _print_readable(raw: str, traces: Sequence[Trace], many: bool) -> None:
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    if not many:
        _print_head(traces[0])
    from webapp.commands import _render  # rich takes as long to import as all else: the verdict stands there before

    if many:
        _render.render_table(_render.console(), traces)
    else:
        _render.render(_render.console(), raw, traces[0])


def _print_head(trace: Trace) -> None:
    colour = False if os.environ.get("NO_COLOR") else True if os.environ.get("FORCE_COLOR") else None
    for line, bold in _words.head(trace):
        style: dict[str, Any] = {"fg": _words.COLOURS[trace.verdict], "bold": True} if bold else {}
        click.secho(line, sys.stdout, color=colour, **style)
