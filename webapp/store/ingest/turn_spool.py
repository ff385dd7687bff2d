"""Holds one session's turns until all have come: in memory while they are few, in a temporary file beyond."""

from __future__ import annotations

import dataclasses
import pickle
import tempfile
from collections.abc import Callable, Iterator
from operator import attrgetter

from webapp.dumps.budget import BadDump
from webapp.dumps.records import Problem, Record, SessionStart, Turn

MOST_TURNS = 2000
MOST_TEXT = 4 * 1024 * 1024

_fields = attrgetter(*(field.name for field in dataclasses.fields(Turn)))


class Spill:
    """Turns in order, to be read any number of times; use as a context manager, which removes the file."""

    def __init__(self) -> None:
        self._held: list[Turn] = []
        self._text = 0
        self._file = tempfile.SpooledTemporaryFile(max_size=0)  # noqa: SIM115

    def __enter__(self) -> Spill:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def clear(self) -> None:
        self._held, self._text = [], 0
        self._file.seek(0)
        self._file.truncate()

    def append(self, turn: Turn) -> None:
        self._held.append(turn)
        self._text += len(turn.raw or "") + 500
        if len(self._held) >= MOST_TURNS or self._text >= MOST_TEXT:
            self._write()

    @property
    def size(self) -> int:
        """Characters of the turns that are held in memory, about."""
        return self._text

    def held(self, most: int) -> list[Turn] | None:
        """The turns, where all of them are in memory and have no more than `most` characters; they stay as they are."""
        return self._held if self._text <= most and not self._file.tell() else None

    def __iter__(self) -> Iterator[Turn]:
        end = self._file.seek(0, 2)
        at = 0
        while at < end:
            self._file.seek(at)
            turns = pickle.load(self._file)  # noqa: S301
            at = self._file.tell()
            yield from (Turn(*values) for values in turns)
        yield from self._held

    def _write(self) -> None:
        self._file.rollover()
        self._file.seek(0, 2)
        pickle.dump([_fields(turn) for turn in self._held], self._file, pickle.HIGHEST_PROTOCOL)
        self._held, self._text = [], 0


def sessions(
    records: Iterator[Record], note: Callable[[Problem], None], count: Callable[[Turn], None]
) -> Iterator[tuple[SessionStart, Spill]]:
    """Each session with all its turns. Where the dump breaks off, what came of the last one, then the error."""
    start: SessionStart | None = None
    failure: BadDump | None = None
    with Spill() as turns:
        try:
            for record in records:
                if isinstance(record, Turn):
                    turns.append(record)
                    count(record)
                elif isinstance(record, Problem):
                    note(record)
                else:
                    if start is not None:
                        yield start, turns
                    start = record
                    turns.clear()
        except BadDump as error:
            failure = error
        if start is not None:
            yield start, turns
    if failure is not None:
        raise failure
