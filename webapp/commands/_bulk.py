"""`fencepost parse --jsonl`: one `{"id", "text"}` a line in, one trace a line out, and no bad line stops the rest."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import click

from webapp import jsontext
from webapp.commands._input import size_of, to_text
from webapp.parsing import Profile, parse


class BadLine(ValueError):
    """A line is not `{"id", "text"}`; `line_id` is its id where that could be read."""

    def __init__(self, message: str, line_id: Any = None) -> None:
        super().__init__(message)
        self.line_id = line_id


def parse_lines(source: BinaryIO, name: str, profiles: Sequence[Profile]) -> int:
    """Write `{"id", …trace}` for each line and profile to standard output; returns the number of bad lines."""
    bad = 0
    write = sys.stdout.write
    for number, line in enumerate(_watched(source), 1):
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


def _watched(source: BinaryIO) -> Iterator[bytes]:
    """The lines of `source`, counted by a bar on standard error where that, and not the output, is a terminal."""
    if not sys.stderr.isatty() or sys.stdout.isatty():
        yield from source
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), redirect_stdout=False, transient=True) as progress:
        task = progress.add_task("parsing", total=size_of(source))
        for line in source:
            yield line
            progress.update(task, advance=len(line))
