"""Finds a query's matches, the newest session first, without ever going through all of a common word's places."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import sqlalchemy as sa

from webapp.store.db import heads
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
    """A text that matches: a turn's raw text or one beside it; turn and position are None for a session's id and title.

    `where` is raw, failure (recorded), error (of the home profile's attempts), note (of a label), id or title.
    For the rest see `Excerpt`; `hit` is a span of `raw` where `where` is raw.
    """

    session_id: int
    turn_id: int | None
    position: int | None
    where: Kind
    fragments: tuple[tuple[str, bool], ...]
    hit: tuple[int, int] | None = None
    starts: bool = True
    ends: bool = True


@dataclass(frozen=True, slots=True)
class Found:
    """Matches in order; `next` is the `after` of those behind them, None where there are no more.

    With fewer than were asked for and a `next` the time was up. `more` holds the sessions with further matches.
    `cut` says that not all of the query could be looked for: too many words, or a prefix of too many words.
    """

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
    a_session: int = EACH,
) -> Found:
    """Where `query` stands. Any text is a query; deleted sessions are never found.

    Over all sessions: at most `limit` sessions, the newest first, `a_session` matches in each, in the order of turns.
    Within `session_id`: at most `limit` matches in that order. `after` is the `next` of what was found before.
    """
    parsed = parse(query)
    match = expression(connection, parsed)
    if session_id is not None:
        return _within(connection, parsed, match, session_id, after, limit)
    hits, following = _Walk(connection, match, allowed).sessions(after, limit)
    return _shown(connection, parsed, match, hits, following, a_session)


def walk(
    connection: sa.Connection, query: str, *, allowed: Allowed | None = None, most: int = 1000
) -> tuple[Hits, int | None]:
    """The newest sessions that match, at most `most`, and the `after` of further ones, None where there are none."""
    return _Walk(connection, expression(connection, parse(query)), allowed).sessions(None, most)


def show(connection: sa.Connection, query: str, hits: Hits, *, a_session: int = EACH) -> Found:
    """The matches of sessions that `walk` found."""
    parsed = parse(query)
    return _shown(connection, parsed, expression(connection, parsed), hits, None, a_session)


def _shown(
    connection: sa.Connection, parsed: Query, match: Expression, hits: Hits, following: int | None, a_session: int
) -> Found:
    all_keys: list[int] = []
    more = set()
    for number, inside in hits.items():
        if inside is None:
            inside = _inside(connection, match, number, None, a_session + 1)
        if len(inside) > a_session:
            more.add(number)
        all_keys += inside[:a_session]
    return Found(_matches(connection, parsed, all_keys), following, match.cut, frozenset(more))


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
        matching: Hits = {}
        width = _WIDTH
        while (high := _skip(self.allowed, high)) > 0:
            low = max(0, high - width)
            hits, reached = self._range(low, high)
            allowed = self._allowed(sorted(hits, reverse=True))
            matching |= {number: hits[number] for number in allowed}
            self.at_once = self.at_once if allowed else min(2 * self.at_once, _MOST_AT_ONCE)
            width = width * 4 if reached == low else width
            high = reached
            if len(matching) > limit:
                ids = list(matching)[:limit]
                return {number: matching[number] for number in ids}, ids[-1]
            if time.monotonic() > until and high > 0:
                return matching, high
        return matching, None

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
        turn_ids: list[int] = []
        if self.match.raw is not None:
            between = (low * TURNS_A_SESSION, high * TURNS_A_SESSION)
            turn_ids = keys(self.connection, "search_raw", self.match.raw, between, newest=True, limit=self.at_once)
            if len(turn_ids) == self.at_once:
                cut = reached = turn_ids[-1] // TURNS_A_SESSION
        noted = noted[bisect_left(noted, reached * _A_SESSION) : bisect_left(noted, high * _A_SESSION)]
        texts = [key * SLOTS + _RAW for key in turn_ids]
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
    visible = set(connection.scalars(query))
    return [number for number in numbers if number in visible]


def _within(
    connection: sa.Connection, parsed: Query, match: Expression, session_id: int, after: int | None, limit: int
) -> Found:
    session_keys = (
        _inside(connection, match, session_id, after, limit + 1) if _visible(connection, [session_id]) else []
    )
    following = session_keys[limit - 1] if len(session_keys) > limit else None
    return Found(_matches(connection, parsed, session_keys[:limit]), following, match.cut)


def _inside(connection: sa.Connection, match: Expression, number: int, after: int | None, limit: int) -> list[int]:
    """Keys of the matches of one session behind `after`, in order."""
    low, high = number * TURNS_A_SESSION, (number + 1) * TURNS_A_SESSION
    start = low * SLOTS if after is None else after + 1
    session_keys: list[int] = []
    if match.raw is not None:
        first = max(low, -((_RAW - start) // SLOTS))
        hits = keys(connection, "search_raw", match.raw, (first, high), newest=False, limit=limit)
        session_keys += [key * SLOTS + _RAW for key in hits]
    if match.note is not None:
        session_keys += keys(connection, "search_note", match.note, (start, high * SLOTS), newest=False, limit=limit)
    return sorted(session_keys)[:limit]


def _matches(connection: sa.Connection, parsed: Query, match_keys: list[int]) -> tuple[Match, ...]:
    cutter = Cutter(parsed)
    turns = {key // SLOTS: key for key in match_keys if key % SLOTS == _RAW}
    notes = [key for key in match_keys if key % SLOTS != _RAW]
    excerpts = _raw_excerpts(connection, cutter, turns) | _note_excerpts(connection, cutter, notes)
    positions = _positions(connection, {key // SLOTS for key in excerpts})
    return tuple(_match(key, excerpts[key], positions) for key in match_keys if key in excerpts)


def _positions(connection: sa.Connection, turn_ids: set[int]) -> dict[int, int]:
    query = sa.select(Turn.id, Turn.position).where(Turn.id.in_(turn_ids))
    return {row.id: row.position for row in connection.execute(query)} if turn_ids else {}


def _match(key: int, excerpt: Excerpt, positions: dict[int, int]) -> Match:
    turn_id, number = divmod(key, SLOTS)
    where, session_id = KINDS[number], turn_id // TURNS_A_SESSION
    turn, position = (None, None) if where in ("id", "title") else (turn_id, positions.get(turn_id))
    place = (excerpt.fragments, excerpt.hit, excerpt.starts, excerpt.ends)
    return Match(session_id, turn, position, where, *place)


def _raw_excerpts(connection: sa.Connection, cutter: Cutter, turns: dict[int, int]) -> dict[int, Excerpt]:
    excerpts = {}
    for row in connection.execute(_heads(list(turns), _HEAD)) if turns else ():
        text, length = heads.decoded(row.head), row.length
        if length > _HEAD and not cutter.finds(text):
            text = heads.decoded(connection.execute(_heads([row.id], _MOST)).one().head)
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
    return {row.key: cutter.excerpt(heads.decoded(bytes(row.text))) for row in rows}
