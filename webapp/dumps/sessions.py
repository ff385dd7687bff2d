"""Entries grouped by session: the lines of a JSONL dump, interleaved too, remembering no more than places."""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO

from webapp import jsontext
from webapp.dumps import parquet_rows
from webapp.dumps.decoding import Damage, Decoder
from webapp.dumps.documents import Place, as_lines, entry_or_problem, nested, objects, whole_document, with_list
from webapp.dumps.head import DumpHead
from webapp.dumps.records import Entries, Entry, Problem
from webapp.dumps.source import NO_RECORD, Cut, Source, too_long
from webapp.dumps.stream import walk
from webapp.dumps.values import first_id, first_text, moment

SessionOf = Callable[[dict[str, Any]], str | None]
Runs = dict[str, "array[int]"]
"""For each session its runs of lines as triples: byte of the first line, its number (from 1), count of lines."""


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


def entries_of(source: Source, head: DumpHead) -> Entries:
    """A dump's entries in order: the items of a list, the document itself, or its lines."""
    if head.shape == "array":
        return objects(walk(source.text(), frozenset()), "")
    if head.shape == "parquet":
        return ((f"row {number}", row) for number, row in enumerate(parquet_rows.rows(source)))
    return whole_document(source) if head.shape == "object" else lines(source)


def page_entries(source: Source, head: DumpHead, *keys: str) -> Entries:
    """The items of a page of an API: of an object's list under the first of `keys`; else the dump's entries."""
    key = next((key for key in keys if head.shape == "object" and key in head.items), None)
    return entries_of(source, head) if key is None else with_list(source, head, key, needed=key)[1]


def document_session(
    source: Source, head: DumpHead, key: str, *, needed: str, ids: Iterable[str] = (), title: Iterable[str] = ()
) -> SessionEntries:
    """A document as a session: its list under `key`; what stands around that names it, by the first of `ids`."""
    extra, entries = with_list(source, head, key, needed=needed)
    return SessionEntries(first_id(extra, *ids) or source.stem, entries, first_text(extra, *title), extra=extra)


def each_session(
    entries: Iterable[Entry | Problem], stem: str, make: Callable[[str, str, dict[str, Any]], SessionEntries | Problem]
) -> Sessions:
    """A session of each entry; `make` gets the name of one that has none, the entry's place and the entry."""
    for number, entry in enumerate(entries, start=1):
        yield entry if isinstance(entry, Problem) else make(f"{stem}-{number}", *entry)


def each_list(source: Source, head: DumpHead, key: str, *, ids: Iterable[str], title: Iterable[str] = ()) -> Sessions:
    """A session of each entry: of the list under its `key`; what stands around names it, by the first of `ids`."""

    def session(fallback: str, at: str, value: dict[str, Any]) -> SessionEntries | Problem:
        listed = value.pop(key, None)
        if not isinstance(listed, list):
            return Problem(at, f"no list of {key}; skipped")
        name = first_id(value, *ids) or fallback
        return SessionEntries(name, nested(at, key, listed), first_text(value, *title), extra=value)

    return each_session(entries_of(source, head), source.stem, session)


def grouped(source: Source, head: DumpHead, session_of: SessionOf) -> Sessions:
    """A dump's entries by session, in the order of their beginnings; where there is none, what is wrong with them.

    An entry that names no session belongs to the one before it; if there is none, to one called as the file. Each
    session's entries must be taken before the next session is asked for.
    """
    if head.shape == "object":
        entries = list(whole_document(source))
        values = [entry[1] for entry in entries if not isinstance(entry, Problem)]
        yield SessionEntries(session_of(values[-1]) or source.stem, entries)
        return
    with as_lines(source, head) as (recoded, problems, place):
        yield from problems
        index = _by_name(recoded, session_of)
        for name, runs in index.items():
            yield SessionEntries(name, lines_of(recoded, runs, place or recoded.line_place))
        if not index:
            yield from (entry for entry in lines(recoded, place) if isinstance(entry, Problem))


def lines(source: Source, place: Place | None = None) -> Entries:
    """Every line's object in order; empty lines are left out, others that are no object become problems."""
    decoder, place = Decoder(), place or source.line_place
    for number, (at, data) in enumerate(source.lines(), start=1):
        if data.strip():
            yield from _line(source, decoder, data, at, place(number))


@dataclass(slots=True)
class LineRuns:
    """Lines by the session that each names; those that name none belong to the one before them, the first ones to the
    first that is named, and those that stand `alone` to the session `rest`.
    """

    start: int
    rest: str = ""
    runs: Runs = field(default_factory=dict)
    current: str | None = None

    def put(self, at: int, number: int, name: str | None, *, alone: bool = False) -> None:
        """The line `number`, which begins at byte `at`; every line is put, in order."""
        if name is None and alone:
            name = self.rest
        if name is not None and name != self.current:
            runs = self.runs.setdefault(name, array("Q"))
            runs.extend((self.start, 1, number) if self.current is None else (at, number, 1))
            self.current = name
        elif self.current is not None:
            self.runs[self.current][-1] += 1


def _by_name(source: Source, session_of: SessionOf) -> Runs:
    """The lines of each session; all where none names one, and none where no line is an object."""
    index, decoder, number, count = LineRuns(source.start), Decoder(), 0, 0
    for number, (at, data) in enumerate(source.lines(), start=1):
        value = object_of(source, decoder, data, at)
        count += value is not None
        index.put(at, number, None if value is None else session_of(value))
    return index.runs or ({source.stem: array("Q", (source.start, 1, number))} if count else {})


def object_of(source: Source, decoder: Decoder, data: bytes, at: int) -> dict[str, Any] | None:
    """The object that a line holds; None for all that is none."""
    if isinstance(data, Cut) or not data.strip():
        return None
    try:
        value = decoder.loads(source.decode(data, at))
    except Damage:
        return None
    return value if isinstance(value, dict) else None


def lines_of(source: Source, runs: array[int], place: Place) -> Entries:
    """The lines of a session's runs."""
    decoder = Decoder()
    for first in range(0, len(runs), 3):
        at, number, count = runs[first : first + 3]
        for offset in range(count):
            data, end = source.line(at)
            if data.strip():
                yield from _line(source, decoder, data, at, place(number + offset))
            at = end


def _line(source: Source, decoder: Decoder, data: bytes, at: int, place: str) -> Entries:
    if isinstance(data, Cut):
        yield Problem(place, too_long(at))
        return
    try:
        value = decoder.loads(source.decode(data, at))
    except Damage as damage:
        if data.startswith(NO_RECORD):
            yield Problem(
                place, f"no record, left out: {data[len(NO_RECORD) :].decode('utf-8', 'replace').strip()[:80]!r}"
            )
            return
        cut = "" if data.endswith(b"\n") else "; the log may be cut here"
        yield Problem(place, f"{damage.reason} (character {damage.at} of the line); skipped{cut}")
        return
    yield from decoder.repeats(place)
    yield entry_or_problem(place, value)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class SpilledEntries:
    """The entries of interleaved sessions; each is kept with its place and a whole number to sort by."""

    file: BinaryIO
    _sessions: dict[str, tuple[array[int], array[int]]] = field(default_factory=dict)

    def put(self, session: str, order: int, at: str, value: dict[str, Any]) -> None:
        """Keep `value`; of equal `order` (63 bits) the first put comes first."""
        orders, places = self._sessions.setdefault(session, (array("q"), array("Q")))
        orders.append(max(-(2**63), min(order, 2**63 - 1)))
        places.append(self.file.seek(0, 2))
        self.file.write(jsontext.dumps([at, value]).encode("ascii") + b"\n")

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
        orders, places = self._sessions.get(session, (array("q"), array("Q")))
        return (self._taken(places[rank]) for rank in sorted(range(len(orders)), key=orders.__getitem__))

    def _taken(self, place: int) -> Entry:
        self.file.seek(place)
        at, value = jsontext.loads(self.file.readline())
        return at, value


def by_time(
    entries: Iterable[Entry | Problem],
    session_of: Callable[[dict[str, Any]], str],
    time_of: Callable[[dict[str, Any]], Any],
    title: str | None = None,
    extra: dict[str, Any] | None = None,
) -> Iterator[SessionEntries | Problem]:
    """Entries by session, each session's in the order of their times; what has none comes first.

    With an `extra` there is a session where there are no entries, too.
    """
    with spilled() as aside:
        problems = []
        for entry in entries:
            if isinstance(entry, Problem):
                problems.append(entry)
            else:
                aside.put(session_of(entry[1]), microseconds(time_of(entry[1])), *entry)
        for name, of_session in aside.sessions():
            yield SessionEntries(name, of_session, title, extra=extra or {})
        if extra and not aside.names:
            yield SessionEntries(session_of({}), (), title, extra=extra)
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
