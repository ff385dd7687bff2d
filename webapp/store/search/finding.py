"""Finds a query's matches, the newest session first, without ever going through all of a common word's places."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import sqlalchemy as sa

from webapp.store import heads
from webapp.store.models import TURNS_A_SESSION, Session, Turn
from webapp.store.search.fragments import Cutter, Excerpt
from webapp.store.search.hits import Expression, expression, keys
from webapp.store.search.index import KINDS, SLOTS, Kind, column
from webapp.store.search.query import Query, parse

Allowed = Sequence[int] | Callable[[int], bool]
"""Session ids that may be found, in ascending order, or a function that says so of one; only of sessions that are there
and not deleted. A sequence is skipped through, a function is asked for each session that matches."""
Hits = dict[int, list[int] | None]
"""Sessions that match, the newest first, each with the keys of its matches in order; None where not all were read."""

EACH = 3
BUDGET = 0.5
"""seconds after which a search answers with what it has and where to go on"""
_WIDTH = 2048
"""sessions looked through first; four times as many each time that nothing is found"""
_AT_ONCE = 512
_AT_ONCE_OF_FEW = 24
_MOST_AT_ONCE = 4096
"""hits read at once, without and with a sequence of allowed sessions; twice as many whenever none was allowed. With
SQLite 200 of them cost as much as another query."""
_HEAD = 256 * 1024
_MOST = 8 * 1024 * 1024
"""bytes of a text that are looked through for the place of a hit, at first and at most"""
_RAW = KINDS.index("raw")
_A_SESSION = TURNS_A_SESSION * SLOTS


@dataclass(frozen=True, slots=True)
class Match:
    """A text that matches: a turn's raw text or one beside it; `turn_id` is None for a session's id and title.

    `where` is raw, failure (recorded), error (of the home profile's attempts), note (of a label), id or title.
    For the rest see `Excerpt`; `hit` is a span of `raw` where `where` is raw.
    """

    session_id: int
    turn_id: int | None
    where: Kind
    fragments: tuple[tuple[str, bool], ...]
    hit: tuple[int, int] | None
    starts: bool
    ends: bool


@dataclass(frozen=True, slots=True)
class Found:
    """Matches in order; `next` is the `after` of those behind them, None where there are no more.

    With fewer than were asked for and a `next` the time was up. `more` holds the sessions with further matches.
    `cut` says that not all of the query could be looked for: too many words, or a prefix of too many words.
    """

    query: Query
    matches: tuple[Match, ...]
    next: int | None
    cut: bool = False
    more: frozenset[int] = field(default_factory=frozenset)


def find(
    connection: sa.Connection,
    query: str,
    *,
    allowed: Allowed | None = None,
    session_id: int | None = None,
    after: int | None = None,
    limit: int = 50,
    each: int = EACH,
) -> Found:
    """Where `query` stands. Any text is a query; deleted sessions are never found.

    Over all sessions: at most `limit` sessions, the newest first, `each` matches a session in the order of its turns.
    Within `session_id`: at most `limit` matches in that order. `after` is the `next` of what was found before.
    """
    parsed = parse(query)
    match = expression(connection, parsed)
    if session_id is not None:
        return _within(connection, parsed, match, session_id, after, limit)
    hits, following = _Walk(connection, match, allowed).sessions(after, limit)
    return _shown(connection, parsed, match, hits, following, each)


def walk(
    connection: sa.Connection, query: str, *, allowed: Allowed | None = None, most: int = 1000
) -> tuple[Hits, int | None]:
    """The newest sessions that match, at most `most`, and the `after` of further ones, None where there are none."""
    return _Walk(connection, expression(connection, parse(query)), allowed).sessions(None, most)


def show(connection: sa.Connection, query: str, hits: Hits, *, each: int = EACH) -> Found:
    """The matches of sessions that `walk` found."""
    parsed = parse(query)
    return _shown(connection, parsed, expression(connection, parsed), hits, None, each)


def _shown(
    connection: sa.Connection, parsed: Query, match: Expression, hits: Hits, following: int | None, each: int
) -> Found:
    found: list[int] = []
    more = set()
    for number, inside in hits.items():
        if inside is None:
            inside = _inside(connection, match, number, None, each + 1)
        if len(inside) > each:
            more.add(number)
        found += inside[:each]
    return Found(parsed, _matches(connection, parsed, found), following, match.cut, frozenset(more))


@dataclass(slots=True)
class _Walk:
    """Goes through the sessions from the newest, a range at a time; `notes`, ascending, reach down to `notes_low`."""

    connection: sa.Connection
    match: Expression
    allowed: Allowed | None
    notes: list[int] = field(default_factory=list)
    notes_low: int | None = None
    notes_at_once: int = _AT_ONCE
    at_once: int = field(init=False)

    def __post_init__(self) -> None:
        few = self.allowed is not None and not callable(self.allowed)
        self.at_once = _AT_ONCE_OF_FEW if few else _AT_ONCE

    def sessions(self, below: int | None, limit: int) -> tuple[Hits, int | None]:
        """Sessions that match, descending from `below`, and the `below` of those behind them."""
        if self.match.raw is None and self.match.note is None:
            return {}, None
        until = time.monotonic() + BUDGET
        newest = (self.connection.scalar(_newest) or 0) + 1
        high = newest if below is None else min(below, newest)
        found: Hits = {}
        width = _WIDTH
        while (high := _skip(self.allowed, high)) > 0:
            low = max(0, high - width)
            hits, reached = self._range(low, high)
            allowed = self._allowed(sorted(hits, reverse=True))
            found |= {number: hits[number] for number in allowed}
            self.at_once = self.at_once if allowed else min(2 * self.at_once, _MOST_AT_ONCE)
            width = width * 4 if reached == low else width
            high = reached
            if len(found) > limit:
                ids = list(found)[:limit]
                return {number: found[number] for number in ids}, ids[-1]
            if time.monotonic() > until and high > 0:
                return found, high
        return found, None

    def _allowed(self, numbers: list[int]) -> list[int]:
        allowed = self.allowed
        if allowed is None:
            return _visible(self.connection, numbers)
        if callable(allowed):
            return [number for number in numbers if allowed(number)]
        return [number for number in numbers if _skip(allowed, number + 1) == number + 1]

    def _range(self, low: int, high: int) -> tuple[Hits, int]:
        """Matches from session `low` on and below `high`, down to the session that is the second answer."""
        noted = self._noted(high)
        low = reached = max(low, self.notes_low or 0)
        cut: int | None = None
        found: list[int] = []
        if self.match.raw is not None:
            between = (low * TURNS_A_SESSION, high * TURNS_A_SESSION)
            found = keys(self.connection, "search_raw", self.match.raw, between, newest=True, limit=self.at_once)
            if len(found) == self.at_once:
                cut = reached = found[-1] // TURNS_A_SESSION
        noted = noted[bisect_left(noted, reached * _A_SESSION) : bisect_left(noted, high * _A_SESSION)]
        texts = [key * SLOTS + _RAW for key in found]
        hits: Hits = {}
        for key in sorted([*texts, *noted]) if noted else reversed(texts):
            number = key // _A_SESSION
            if number == cut or number == self.notes_low:
                hits[number] = None
            elif number >= reached:
                hits.setdefault(number, []).append(key)  # type: ignore[union-attr]
        return hits, reached

    def _noted(self, high: int) -> list[int]:
        """The keys of notes that match below the session `high`, ascending, and `notes_low` set to fit."""
        if self.match.note is None:
            return []
        if self.notes_low is None or high <= self.notes_low:
            limit = self.notes_at_once
            between = (0, high * _A_SESSION)
            self.notes = keys(self.connection, "search_note", self.match.note, between, newest=True, limit=limit)[::-1]
            self.notes_low = self.notes[0] // _A_SESSION if len(self.notes) == limit else 0
            self.notes_at_once = min(2 * limit, _MOST_AT_ONCE)
        return self.notes


_newest = sa.select(sa.func.max(Session.id))


def _skip(allowed: Allowed | None, high: int) -> int:
    """The `high` below which the next allowed session is the first; 0 where there is none."""
    if allowed is None or callable(allowed):
        return high
    index = bisect_left(allowed, high)
    return allowed[index - 1] + 1 if index else 0


def _visible(connection: sa.Connection, numbers: list[int]) -> list[int]:
    """Those that are there and not deleted, in the same order."""
    if not numbers:
        return []
    query = sa.select(Session.id).where(Session.id.in_(numbers), Session.deleted_at.is_(None))
    there = set(connection.scalars(query))
    return [number for number in numbers if number in there]


def _within(
    connection: sa.Connection, parsed: Query, match: Expression, session_id: int, after: int | None, limit: int
) -> Found:
    found = _inside(connection, match, session_id, after, limit + 1) if _visible(connection, [session_id]) else []
    following = found[limit - 1] if len(found) > limit else None
    return Found(parsed, _matches(connection, parsed, found[:limit]), following, match.cut)


def _inside(connection: sa.Connection, match: Expression, number: int, after: int | None, limit: int) -> list[int]:
    """Keys of the matches of one session behind `after`, in order."""
    low, high = number * TURNS_A_SESSION, (number + 1) * TURNS_A_SESSION
    start = low * SLOTS if after is None else after + 1
    found: list[int] = []
    if match.raw is not None:
        first = max(low, -((_RAW - start) // SLOTS))
        hits = keys(connection, "search_raw", match.raw, (first, high), newest=False, limit=limit)
        found += [key * SLOTS + _RAW for key in hits]
    if match.note is not None:
        found += keys(connection, "search_note", match.note, (start, high * SLOTS), newest=False, limit=limit)
    return sorted(found)[:limit]


def _matches(connection: sa.Connection, parsed: Query, found: list[int]) -> tuple[Match, ...]:
    cutter = Cutter(parsed)
    turns = {key // SLOTS: key for key in found if key % SLOTS == _RAW}
    notes = [key for key in found if key % SLOTS != _RAW]
    excerpts = _raw_excerpts(connection, cutter, turns) | _note_excerpts(connection, cutter, notes)
    return tuple(_match(key, excerpts[key]) for key in found if key in excerpts)


def _match(key: int, excerpt: Excerpt) -> Match:
    turn_id, number = divmod(key, SLOTS)
    where = KINDS[number]
    turn = None if where in ("id", "title") else turn_id
    return Match(turn_id // TURNS_A_SESSION, turn, where, excerpt.fragments, excerpt.hit, excerpt.starts, excerpt.ends)


def _raw_excerpts(connection: sa.Connection, cutter: Cutter, turns: dict[int, int]) -> dict[int, Excerpt]:
    excerpts = {}
    for row in connection.execute(_heads(list(turns), _HEAD)) if turns else ():
        text, length = _decoded(row.head), row.length
        if length > _HEAD and not cutter.finds(text):
            text = _decoded(connection.execute(_heads([row.id], _MOST)).one().head)
        excerpts[turns[row.id]] = cutter.excerpt(text)
    return excerpts


def _heads(turns: list[int], size: int) -> sa.Select[int, bytes, int]:
    head, length = heads.head(Turn.raw, size).label("head"), heads.Length(Turn.raw).label("length")
    return sa.select(Turn.id, head, length).where(Turn.id.in_(turns))


def _note_excerpts(connection: sa.Connection, cutter: Cutter, notes: list[int]) -> dict[int, Excerpt]:
    if not notes:
        return {}
    name = column(connection)
    query = sa.text(f"SELECT {name} AS key, text FROM search_note WHERE {name} IN :notes")  # noqa: S608
    rows = connection.execute(query.bindparams(sa.bindparam("notes", expanding=True)), {"notes": notes})
    return {row.key: cutter.excerpt(_decoded(row.text)) for row in rows}


def _decoded(data: bytes) -> str:
    """UTF-8 that may have been cut within its last code point."""
    data = bytes(data)
    for short in range(4):
        try:
            return data[: len(data) - short].decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            continue
    return data.decode("utf-8", "replace")
