"""Entries grouped by session: by what names it, by a key, or by time; kept aside on disk, not in memory."""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any, BinaryIO

from webapp import jsontext
from webapp.dumps import parquet_rows
from webapp.dumps.documents import objects, whole_document, with_list
from webapp.dumps.head import DumpHead
from webapp.dumps.records import Entries, Entry, Problem
from webapp.dumps.session_keys import NO_KEY, OPTION, Follows, SessionKeys, entry_keys, named_by, rank_of
from webapp.dumps.source import Source, lines
from webapp.dumps.stream import walk
from webapp.dumps.values import first_id, first_text, moment

SessionOf = Callable[[dict[str, Any]], str | None]


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
    yield from _apart(entries_of(source, head), session_of, source.stem, {})


def keyed(source: Source, head: DumpHead, given_key: str | None, follows: Follows) -> Sessions:
    """A dump's entries by the key `given_key`, else by the one that is chosen; one session where there is none."""
    if head.shape == "object":
        yield _only(source, given_key)
        return
    keys = entry_keys(entries_of(source, head), partial(named_by, given_key=given_key), follows)
    key = keys.report(given_key).key
    if given_key not in (None, NO_KEY) and key is None:
        yield Problem("the log", f"no entry has the session key {str(given_key)[:200]!r}; all are one session")
    if key is None and keys.entries:
        yield SessionEntries(source.stem, entries_of(source, head))
        return
    column = None if key is None else keys.columns[key]
    if column and column.without:
        count = f"{column.without:,} {'entry names' if column.without == 1 else 'entries name'} no {key}"
        yield Problem(column.first_without, f"{count}; in the session {source.stem[:200]!r}")

    def session(value: dict[str, Any]) -> str | None:
        name = next((name for own_key, name in named_by(value, given_key) if own_key == key), None)
        return source.stem if name is None and not follows(value) else name

    yield from _apart(entries_of(source, head), session, source.stem, {OPTION: key})


def _apart(entries: Entries, session_of: SessionOf, stem: str, extra: dict[str, Any]) -> Sessions:
    """The entries by the session that each names; what names none, and a problem, stays with what came before it."""
    with spilled() as aside:
        current, count = "", 0
        for entry in entries:
            if isinstance(entry, Problem):
                aside.put(current, 0, entry.at, entry.reason)
            else:
                current, count = session_of(entry[1]) or current, count + 1
                aside.put(current, 0, *entry)
        aside.rename({"": next(filter(None, aside.names), stem)})
        for name, kept in aside.sessions():
            of_session = (_as_it_came(*one) for one in kept)
            if count:
                yield SessionEntries(name, of_session, extra=extra)
            else:
                yield from (entry for entry in of_session if isinstance(entry, Problem))


def _as_it_came(at: str, value: Any) -> Entry | Problem:
    return Problem(at, value) if isinstance(value, str) else (at, value)


def _only(source: Source, given_key: str | None) -> SessionEntries:
    """The document as the only entry of its session."""
    entries = list(whole_document(source))
    values = [entry[1] for entry in entries if not isinstance(entry, Problem)]
    keys = [] if given_key == NO_KEY else [pair for value in values for pair in named_by(value, given_key)]
    key, name = min(
        keys, key=lambda pair: -1 if pair[0] == given_key else rank_of(pair[0]), default=(None, source.stem)
    )
    return SessionEntries(name, entries, extra={} if key is None else {OPTION: key})


def session_keys(source: Source, head: DumpHead, given_key: str | None, follows: Follows) -> SessionKeys:
    """The keys of a dump's entries, and the one that `keyed` takes."""
    names_of = partial(named_by, given_key=given_key)
    return entry_keys(entries_of(source, head), names_of, follows).report(given_key)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class SpilledEntries:
    """The entries of interleaved sessions; each is kept with its place and a whole number to sort by."""

    file: BinaryIO
    _sessions: dict[str, tuple[array[int], array[int]]] = field(default_factory=dict)

    def put(self, session: str, order: int, at: str, value: Any) -> None:
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
        are_sorted = all(before <= after for before, after in pairwise(orders))
        ranks = range(len(orders)) if are_sorted else sorted(range(len(orders)), key=orders.__getitem__)
        return (self._taken(places[rank]) for rank in ranks)

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
