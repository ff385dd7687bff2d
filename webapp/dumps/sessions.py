"""A session's entries and turns, and those of interleaved sessions, kept aside on disk and not in memory."""

from __future__ import annotations

import dataclasses
import pickle
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from operator import attrgetter
from typing import Any, BinaryIO

from webapp.dumps.budget import BadDump
from webapp.dumps.records import Entry, Problem, Record, SessionStart, Turn
from webapp.dumps.values import moment


@dataclass(frozen=True, slots=True)
class SessionEntries:
    """One session of a dump: `extra` is what stands around its entries, and is kept with it."""

    name: str
    entries: Iterable[Entry | Problem]
    title: str | None = None
    home: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    service: str | None = None


Sessions = Iterator[SessionEntries | Problem]


def each_session(
    entries: Iterable[Entry | Problem], stem: str, make: Callable[[str, str, dict[str, Any]], SessionEntries | Problem]
) -> Sessions:
    """A session of each entry; `make` gets the name of one that has none, the entry's place and the entry."""
    for number, entry in enumerate(entries, start=1):
        yield entry if isinstance(entry, Problem) else make(f"{stem}-{number}", *entry)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class SpilledEntries:
    """The entries of interleaved sessions; each is kept with its place and a whole number to sort by.

    All are put before the first is taken.
    """

    file: BinaryIO
    _sessions: dict[str, tuple[array[int], array[int]]] = field(default_factory=dict)
    _size: int = 0

    def put(self, session: str, order: int, at: str, value: Any) -> None:
        """Keep `value`; of equal `order` (63 bits) the first put comes first."""
        orders, places = self._sessions.setdefault(session, (array("q"), array("Q")))
        orders.append(max(-(2**63), min(order, 2**63 - 1)))
        places.append(self._size)
        self._size += self.file.write(pickle.dumps((at, value), pickle.HIGHEST_PROTOCOL))

    @property
    def names(self) -> list[str]:
        """The sessions, as they were first met."""
        return list(self._sessions)

    def rename(self, names: dict[str, str]) -> None:
        """Call sessions by other names; those that get the same one become one session."""
        merged: dict[str, tuple[array[int], array[int]]] = {}
        for name, (orders, places) in self._sessions.items():
            into = merged.setdefault(names.get(name, name), (array("q"), array("Q")))
            into[0].extend(orders)
            into[1].extend(places)
        self._sessions = merged

    def sessions(self) -> Iterator[tuple[str, Iterator[Entry]]]:
        """Each session with its entries in order, sessions as they were first met."""
        for name in self._sessions:
            yield name, self.of(name)

    def of(self, session: str) -> Iterator[Entry]:
        """The entries of one session in order; none where there is no such session."""
        if session not in self._sessions:
            return iter(())
        orders, places = self._sessions[session]
        are_sorted = all(before <= after for before, after in pairwise(orders))
        ranks = range(len(orders)) if are_sorted else sorted(range(len(orders)), key=orders.__getitem__)
        return (self._taken(places[rank]) for rank in ranks)

    def _taken(self, place: int) -> Entry:
        self.file.seek(place)
        entry: Entry = pickle.load(self.file)  # noqa: S301
        return entry


def by_time(
    entries: Iterable[Entry | Problem],
    session_of: Callable[[dict[str, Any]], str],
    time_of: Callable[[dict[str, Any]], Any],
    tells: Callable[[dict[str, Any]], SessionEntries | None] = lambda value: None,
    known: Iterable[SessionEntries] = (),
) -> Iterator[SessionEntries | Problem]:
    """Entries by session, each session's in the order of their times; what has none comes first.

    An entry that `tells` of a session is none of its own. Sessions of which something is told, or that are `known`, are
    there without an entry, too.
    """
    with spilled() as aside:
        problems, told = [], {session.name: session for session in known}
        for entry in entries:
            if isinstance(entry, Problem):
                problems.append(entry)
            elif session := tells(entry[1]):
                told[session.name] = session
            else:
                aside.put(session_of(entry[1]), microseconds(time_of(entry[1])), *entry)
        for name, of_session in aside.sessions():
            yield dataclasses.replace(told.pop(name, SessionEntries(name, ())), entries=of_session)
        yield from told.values()
        yield from problems


def microseconds(value: Any) -> int:
    """Microseconds since 1970 of a time as dumps write it; what has no time comes first."""
    when = moment(value)
    return -(2**62) if when is None else (when - _EPOCH) // timedelta(microseconds=1)


@contextmanager
def spilled() -> Iterator[SpilledEntries]:
    """No entries yet; what it holds is gone afterwards."""
    with tempfile.TemporaryFile() as file:
        yield SpilledEntries(file)


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
