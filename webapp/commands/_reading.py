"""Reads one file for `fencepost ingest`: into the database or only to see what is in it, with a bar that shows it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

import click
import sqlalchemy as sa

from webapp import dumps as readers
from webapp.commands._found import Found
from webapp.commands._input import open_bytes
from webapp.commands._visible import visible
from webapp.commands._words import counted
from webapp.config import Settings
from webapp.dumps import BadDump, Problem, SessionStart, Spooled, Turn, UnknownFormat, spool
from webapp.store.dumps import DumpLine
from webapp.store.ingest import MOST_PROBLEMS, Ingested, describe, ingest, ingest_again, mapped, sniffed
from webapp.store.kept import NotKept

_EVERY = 200
"""turns between two calls of a progress"""


@dataclass(slots=True)
class Seen:
    """What a dump holds, where nothing is stored: `sessions` are ids; at most 200 problems are word for word."""

    format: str
    bytes: int
    sessions: list[str] = field(default_factory=list)
    turns: int = 0
    problems: list[Problem] = field(default_factory=list)
    problem_count: int = 0

    def note(self, problem: Problem) -> None:
        self.problem_count += 1
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(problem)


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one file: stored, only seen, passed over for a reason, or the error (code, message, at)."""

    file: str
    done: Ingested | None = None
    seen: Seen | None = None
    skipped: str | None = None
    error: dict[str, str | None] | None = None


@dataclass(frozen=True, slots=True)
class Reader:
    """How files are read: `engine` None stores nothing; `show` draws a bar where standard error is a terminal."""

    engine: sa.Engine | None
    settings: Settings
    format: str | None = None
    home: str | None = None
    show: bool = True
    mapping: Mapping[str, str] | None = None

    def read(self, found: Found, limit: int | None = None) -> Result:
        """Read one file, or only its first `limit` bytes; whatever is wrong with it is in the result."""
        name = found.shown
        try:
            with open_bytes(found.path) as stream, _bar(name, stream, self.show, limit) as (watched, turns):
                if self.engine is None:
                    return Result(name, seen=self._look(watched, found, turns))
                return Result(name, done=self._store(self.engine, watched, found, turns))
        except UnknownFormat as error:
            if not found.asked:
                return Result(name, skipped=str(error).partition(" Known are: ")[0])
            return Result(name, error=describe(error))
        except (BadDump, OSError, click.UsageError) as error:
            return Result(name, error=_said(error))

    def again(self, dump: DumpLine) -> Result:
        """Read a kept dump anew; whatever is wrong with it is in the result."""
        if self.engine is None:
            raise ValueError("nothing is stored here")
        name = f"{dump.filename} ({dump.sha256[:12]})"
        try:
            with _counter(name, self.show) as turns:
                done = ingest_again(
                    self.engine, self.settings, dump.id, format=self.format, home=self.home, progress=turns
                )
                return Result(name, done=done)
        except NotKept as error:
            return Result(name, error={"code": "not_kept", "message": str(error), "at": None})
        except (BadDump, UnknownFormat, OSError) as error:
            return Result(name, error=_said(error))

    def _store(self, engine: sa.Engine, stream: BinaryIO, found: Found, turns: Callable[[int], None]) -> Ingested:
        return ingest(
            engine,
            self.settings,
            stream,
            filename=found.filename,
            format=self.format,
            home=self.home,
            progress=turns,
            known_only=not found.asked,
            mapping=self.mapping,
        )

    def _look(self, stream: BinaryIO, found: Found, turns: Callable[[int], None]) -> Seen:
        with tempfile.TemporaryDirectory(prefix="fencepost-") as folder:
            spooled = spool(stream, Path(folder), max_bytes=self.settings.max_dump)
            format_name = self.format or (mapped(self.mapping) if self.mapping else _sniff(spooled, found))
            return _survey(spooled, found, format_name, self.mapping, turns)


def _said(error: BadDump | UnknownFormat | OSError | click.UsageError) -> dict[str, str | None]:
    if isinstance(error, BadDump | UnknownFormat):
        return describe(error)
    message = error.message if isinstance(error, click.UsageError) else str(error)
    return {"code": "unreadable", "message": message, "at": None}


def _sniff(spooled: Spooled, found: Found) -> str:
    return readers.sniff(spooled.path, found.filename) if found.asked else sniffed(spooled, found.filename)


def _survey(
    spooled: Spooled,
    found: Found,
    format_name: str,
    mapping: Mapping[str, str] | None,
    turns: Callable[[int], None],
) -> Seen:
    """Raises `BadDump` where nothing can be read."""
    seen = Seen(format_name, spooled.bytes)
    if spooled.problem is not None:
        seen.note(spooled.problem)
    for record in readers.read(spooled.path, found.filename, format=format_name, mapping=mapping):
        if isinstance(record, SessionStart):
            seen.sessions.append(record.external_id)
        elif isinstance(record, Turn):
            seen.turns += 1
            if seen.turns % _EVERY == 0:
                turns(seen.turns)
        else:
            seen.note(record)
    return seen


class _Watched:
    """A stream of which each piece that is read is told, and no more than `limit` bytes are."""

    def __init__(self, stream: BinaryIO, advance: Callable[[int], None], limit: int | None) -> None:
        self._stream, self._advance, self._left = stream, advance, limit

    def read(self, size: int = -1) -> bytes:
        if self._left is not None:
            size = self._left if size < 0 else min(size, self._left)
        piece = self._stream.read(size)
        if self._left is not None:
            self._left -= len(piece)
        self._advance(len(piece))
        return piece


@contextmanager
def _bar(
    name: str, stream: BinaryIO, show: bool, limit: int | None
) -> Iterator[tuple[BinaryIO, Callable[[int], None]]]:
    """The stream to read from, and what to tell the number of turns: a bar shows both on a terminal."""
    if not show or not os.isatty(2):
        yield cast(BinaryIO, _Watched(stream, lambda _: None, limit)), lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn())
    turns = TextColumn("{task.fields[turns]}", markup=False)
    with Progress(*columns, turns, TimeElapsedColumn(), console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(visible(name), total=limit or _size(stream), turns="")
        watched = _Watched(stream, lambda count: progress.advance(task, count), limit)
        yield cast(BinaryIO, watched), lambda count: progress.update(task, turns=f"{counted(count, 'turn')} read")


@contextmanager
def _counter(name: str, show: bool) -> Iterator[Callable[[int], None]]:
    """What to tell the number of turns: a line counts them on a terminal."""
    if not show or not os.isatty(2):
        yield lambda _: None
        return
    from rich.console import Console
    from rich.markup import escape

    shown = escape(visible(name))
    with Console(stderr=True).status(f"{shown}: reading") as status:
        yield lambda count: status.update(f"{shown}: {counted(count, 'turn')} read")


def _size(stream: BinaryIO) -> int | None:
    """Bytes of a regular file, None of a pipe."""
    try:
        return os.fstat(stream.fileno()).st_size or None
    except OSError:
        return None
