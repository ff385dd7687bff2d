"""`fencepost parse --jsonl`: one `{"id", "text"}` a line in, one trace a line out, and no bad line stops the rest."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, BinaryIO

import click

from webapp import jsontext
from webapp.commands._input import to_text
from webapp.parsing import Profile, parse


class BadLine(ValueError):
    """A line is not `{"id", "text"}`; `known` is its id where that could be read."""

    def __init__(self, message: str, known: Any = None) -> None:
        super().__init__(message)
        self.known = known


def parse_lines(source: BinaryIO, name: str, profiles: Sequence[Profile]) -> int:
    """Write `{"id", …trace}` for each line and profile to standard output; returns the number of bad lines."""
    bad = 0
    write = sys.stdout.write
    with ExitStack() as stack:
        for number, line in enumerate(_watched(source, stack), 1):
            if not line.strip():
                continue
            try:
                key, text = _read(to_text(line, f"line {number}"))
            except BadLine as problem:
                bad += 1
                click.echo(f"{name}, line {number}: {problem}", err=True)
                error = {"code": "bad_line", "message": str(problem), "at": number}
                write(f"{jsontext.dumps({'id': problem.known, 'error': error})}\n")
                continue
            for profile in profiles:
                write(f"{jsontext.dumps({'id': key} | parse(text, profile).as_dict())}\n")
    return bad


def _read(line: str) -> tuple[Any, str]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadLine(f"not JSON: {error}") from None
    if not isinstance(entry, dict):
        raise BadLine(f'takes an object with "id" and "text", not {type(entry).__name__}')
    if "id" not in entry:
        raise BadLine('has no "id"')
    if not isinstance(entry.get("text"), str):
        raise BadLine('has no "text"' if "text" not in entry else '"text" is no string', entry["id"])
    return entry["id"], entry["text"]


def _watched(source: BinaryIO, stack: ExitStack) -> Iterable[bytes]:
    """The lines of `source`, counted by a bar on standard error where that, and not the output, is a terminal."""
    if not sys.stderr.isatty() or sys.stdout.isatty():
        return source
    return _counted(source, stack.enter_context(_bar()))


@contextmanager
def _bar() -> Iterator[Callable[[int, int | None], None]]:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), redirect_stdout=False, transient=True) as progress:
        task = progress.add_task("parsing", total=None)
        yield lambda done, total: progress.update(task, advance=done, total=total)


def _counted(source: BinaryIO, advance: Callable[[int, int | None], None]) -> Iterator[bytes]:
    total = _size(source)
    for line in source:
        yield line
        advance(len(line), total)


def _size(source: BinaryIO) -> int | None:
    """Bytes of a regular file, None of a pipe or a buffer."""
    try:
        return os.fstat(source.fileno()).st_size or None
    except OSError:
        return None
