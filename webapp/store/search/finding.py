"""Finds a query's matches, the newest session first, without ever going through all of a common word's places."""

from __future__ import annotations

from dataclasses import dataclass, field

import sqlalchemy as sa

from webapp.store.db import heads
from webapp.store.models import TURNS_A_SESSION, Turn
from webapp.store.search.fragments import Cutter, Excerpt
from webapp.store.search.hits import Expression, expression, keys
from webapp.store.search.index import column
from webapp.store.search.pending import KINDS, SLOTS, Kind
from webapp.store.search.query import Query, parse
from webapp.store.search.walking import Allowed, Hits, Walk, visible

EACH = 3
_HEAD = 256 * 1024
_MOST = 8 * 1024 * 1024
"""bytes of a text that are looked through for the place of a hit, at first and at most"""
_RAW = KINDS.index("raw")


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
    hits, following = Walk(connection, match, allowed).sessions(after, limit)
    return _shown(connection, parsed, match, hits, following, a_session)


def walk(
    connection: sa.Connection, query: str, *, allowed: Allowed | None = None, most: int = 1000
) -> tuple[Hits, int | None]:
    """The newest sessions that match, at most `most`, and the `after` of further ones, None where there are none."""
    return Walk(connection, expression(connection, parse(query)), allowed).sessions(None, most)


def show(connection: sa.Connection, query: str, hits: Hits) -> Found:
    """The matches of sessions that `walk` found, `EACH` of each."""
    parsed = parse(query)
    return _shown(connection, parsed, expression(connection, parsed), hits, None, EACH)


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


def _within(
    connection: sa.Connection, parsed: Query, match: Expression, session_id: int, after: int | None, limit: int
) -> Found:
    session_keys = _inside(connection, match, session_id, after, limit + 1) if visible(connection, [session_id]) else []
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
