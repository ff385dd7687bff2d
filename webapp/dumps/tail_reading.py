"""Reads what was added to a dump of lines, from where the reading of it ended before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from webapp.dumps.base import Format
from webapp.dumps.entries import Entry
from webapp.dumps.records import Problem, Turn
from webapp.dumps.sessions import lines
from webapp.dumps.source import Source
from webapp.dumps.turn_reader import ReadTail

MOST_ADDED = 16 * 1024 * 1024
"""bytes of added lines that are held; more are read with the whole file"""


def added_entries(path: Path, filename: str, start: int, lines_before: int) -> list[Entry | Problem]:
    """The entries of the lines from byte `start` on, which follow `lines_before` lines. At most `MOST_ADDED` bytes."""
    with path.open("rb") as file:
        source = Source(file, filename, start=start)
        entries = list(lines(source, lambda number: f"line {number + lines_before}"))
        return [*entries, *source.take_problem()]


def are_of_one_session(kind: Format, tail: ReadTail, stem: str, entries: list[Entry | Problem]) -> bool:
    """Whether all entries belong to the session that was read before."""
    values = (entry[1] for entry in entries if not isinstance(entry, Problem))
    return all(kind.line_session(value, stem) in (None, tail.session) for value in values)


def added_turns(kind: Format, tail: ReadTail, entries: list[Entry | Problem]) -> Iterator[Turn | Problem]:
    """The turns of added entries; none of an entry that was read before, though it may have waited for these."""
    if tail.reader is None:
        raise ValueError("this reading cannot go on")
    first = tail.reader.conversation.entry
    for record in _all_turns(kind, tail, entries):
        if isinstance(record, Problem):
            yield record
        elif record.entry >= first:
            if tail.answers is not None:
                tail.answers.add(record)
            yield record


def _all_turns(kind: Format, tail: ReadTail, entries: list[Entry | Problem]) -> Iterator[Turn | Problem]:
    reader = tail.reader
    if reader is not None:
        yield from reader.read(kind.sided_turns(entries, reader))
        yield from reader.so_far()
