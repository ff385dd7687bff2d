"""Full-text search by SQLite's FTS5 or PostgreSQL's tsvector: finds a query's matches, and what stands around them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from heapq import merge
from itertools import groupby
from typing import Literal

import sqlalchemy as sa

from webapp.store.db import types
from webapp.store.db.dialect import TookTooLong, within
from webapp.store.db.ids import KINDS, SLOTS, Kind
from webapp.store.models.sessions import TURNS_A_SESSION, Session, Turn
from webapp.store.search.query import Cutter, Excerpt, Query, Term, kept, parse

Table = Literal["search_raw", "search_note"]
Condition = sa.ColumnElement[bool]
rowid: dict[Table, sa.ColumnClause[int]] = {
    name: sa.table(name, sa.column("rowid", sa.BigInteger())).c.rowid for name in ("search_raw", "search_note")
}
"""the key of a text: of a raw one its turn's id, of a note as `ids.note_key` has it"""


def expression(connection: sa.Connection, query: Query) -> str | None:
    """`query` in the database's own language; None where nothing can match.

    From here to the end of its transaction PostgreSQL plans each statement for its own words: a plan for any words
    reads all of a common word's places.
    """
    if not query.required:
        return None
    if connection.dialect.name == "sqlite":
        together = " AND ".join(map(_phrase, query.required))
        return f"({together}) NOT ({' OR '.join(map(_phrase, query.excluded))})" if query.excluded else together
    connection.exec_driver_sql("SET LOCAL plan_cache_mode = force_custom_plan")
    return " & ".join([*map(_tsterm, query.required), *(f"!{_tsterm(term)}" for term in query.excluded)])


def _matching(dialect: str, table: Table) -> sa.Select[int]:
    """The keys of the texts that `match`."""
    key = rowid[table]
    is_match = sa.literal_column(table).bool_op("MATCH")(sa.bindparam("match", type_=sa.String()))
    if dialect != "sqlite":
        query = sa.func.to_tsquery("simple", sa.bindparam("match", type_=sa.String()))
        is_match = sa.literal_column(f"{table}.words").bool_op("@@")(query)
    return sa.select(key).where(is_match)


@cache
def _first_between(dialect: str, table: Table) -> sa.Select[int]:
    """The first `most` of them from `low` up to `high`; made once, since a page asks for those of fifty sessions."""
    key = rowid[table]
    here = key >= sa.bindparam("low", type_=sa.BigInteger()), key < sa.bindparam("high", type_=sa.BigInteger())
    return _matching(dialect, table).where(*here).order_by(key).limit(sa.bindparam("most", type_=sa.Integer()))


def _phrase(term: Term) -> str:
    """FTS5's own words stand outside of quotes only."""
    return f'"{" ".join(term.tokens)}"' + (" *" if term.prefix else "")


def _tsterm(term: Term) -> str:
    text = " <-> ".join(f"'{kept(token)}'" for token in term.tokens)
    return f"({text}{':*' if term.prefix else ''})"


EACH = 3
LIMIT = 0.5
"""seconds after which a search answers with what it has"""
_AT_ONCE = 256
"""keys that are read at once at first, then always four times as many"""
_HEAD = 256 * 1024
_MOST = 8 * 1024 * 1024
"""bytes of a text that are looked through for the place of a hit, at first and at most"""
_RAW = KINDS.index("raw")
_SIZES: dict[Table, int] = {"search_raw": TURNS_A_SESSION, "search_note": TURNS_A_SESSION * SLOTS}
"""keys of a session"""


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

    `cut` says that not all of the query could be looked for: it has too many words.
    """

    matches: tuple[Match, ...]
    next: int | None
    cut: bool = False


def sessions(
    connection: sa.Connection, query: str, where: Sequence[Condition], *, below: int | None = None, most: int
) -> tuple[list[int], bool]:
    """The newest sessions, of those below a number, in which `query` stands, and whether there are more, or the time
    was up before that was known; `where` are conditions on them."""
    match = expression(connection, parse(query))
    if match is None:
        return [], False
    ids: list[int] = []
    ends = time.monotonic() + LIMIT
    try:
        with within(connection, LIMIT):
            both = (_sessions_of(connection, table, match, where, below) for table in _SIZES)
            for number, _ in groupby(merge(*both, reverse=True)):
                if len(ids) == most or time.monotonic() > ends:
                    return ids, True
                ids.append(number)
    except TookTooLong:
        return ids, True
    return ids, False


def _sessions_of(
    connection: sa.Connection, table: Table, match: str, where: Sequence[Condition], below: int | None
) -> Iterator[int]:
    """The sessions with a text that matches, the newest first, each once or more often."""
    key, size, limit = rowid[table], _SIZES[table], _AT_ONCE
    visible = sa.exists().where(Session.id == key // size, *where)
    while True:
        bound = [] if below is None else [key < below * size]
        newest = _matching(connection.dialect.name, table).where(*bound, visible).order_by(key.desc()).limit(limit)
        keys = connection.scalars(newest, {"match": match}).all()
        yield from (number // size for number in keys)
        if len(keys) < limit:
            return
        below, limit = keys[-1] // size, 4 * limit


def matches(connection: sa.Connection, query: str, session_ids: Sequence[int], *, each: int = EACH) -> list[Match]:
    """The first matches of each of these sessions, in their order."""
    parsed = parse(query)
    match = expression(connection, parsed)
    every = [key for number in session_ids for key in _inside(connection, match, number, None, each)]
    return list(_matches(connection, parsed, every))


def find(connection: sa.Connection, query: str, *, session_id: int, after: int | None = None, limit: int = 50) -> Found:
    """Where `query` stands in a session, behind the `next` of what was found before. Any text is a query."""
    parsed = parse(query)
    match = expression(connection, parsed)
    visible = sa.select(Session.id).where(Session.id == session_id, Session.deleted_at.is_(None))
    if match is None or connection.scalar(visible) is None:
        return Found((), None, parsed.cut)
    session_keys = _inside(connection, match, session_id, after, limit + 1)
    following = session_keys[limit - 1] if len(session_keys) > limit else None
    return Found(_matches(connection, parsed, session_keys[:limit]), following, parsed.cut)


def _inside(connection: sa.Connection, match: str | None, number: int, after: int | None, limit: int) -> list[int]:
    """Keys of the matches of one session behind `after`, in order."""
    if match is None:
        return []
    low, high = number * TURNS_A_SESSION, (number + 1) * TURNS_A_SESSION
    start = low * SLOTS if after is None else after + 1
    bounds: dict[Table, tuple[int, int]] = {
        "search_raw": (max(low, -((_RAW - start) // SLOTS)), high),
        "search_note": (start, high * SLOTS),
    }
    hits, notes = (
        connection.scalars(
            _first_between(connection.dialect.name, table), {"match": match, "low": first, "high": end, "most": limit}
        )
        for table, (first, end) in bounds.items()
    )
    return sorted([*(key * SLOTS + _RAW for key in hits), *notes])[:limit]


def _matches(connection: sa.Connection, parsed: Query, match_keys: list[int]) -> tuple[Match, ...]:
    cutter = Cutter(parsed)
    turns = {key // SLOTS: key for key in match_keys if key % SLOTS == _RAW}
    notes = [key for key in match_keys if key % SLOTS != _RAW]
    excerpts = _raw_excerpts(connection, cutter, turns) | _note_excerpts(connection, cutter, notes)
    query = sa.select(Turn.id, Turn.position).where(Turn.id.in_({key // SLOTS for key in excerpts}))
    positions = {row.id: row.position for row in connection.execute(query)} if excerpts else {}
    return tuple(_match(key, excerpts[key], positions) for key in match_keys if key in excerpts)


def _match(key: int, excerpt: Excerpt, positions: dict[int, int]) -> Match:
    turn_id, number = divmod(key, SLOTS)
    where, session_id = KINDS[number], turn_id // TURNS_A_SESSION
    turn, position = (None, None) if where in ("id", "title") else (turn_id, positions.get(turn_id))
    place = (excerpt.fragments, excerpt.hit, excerpt.starts, excerpt.ends)
    return Match(session_id, turn, position, where, *place)


def _raw_excerpts(connection: sa.Connection, cutter: Cutter, turns: dict[int, int]) -> dict[int, Excerpt]:
    excerpts = {}
    for row in connection.execute(_heads(list(turns), _HEAD)) if turns else ():
        text, length = types.decoded(row.head), row.length
        if length > _HEAD and not cutter.finds(text):
            text = types.decoded(connection.execute(_heads([row.id], _MOST)).one().head)
        excerpts[turns[row.id]] = cutter.excerpt(text)
    return excerpts


def _heads(turns: list[int], size: int) -> sa.Select[int, bytes, int]:
    head, length = types.head(Turn.raw, size).label("head"), types.Length(Turn.raw).label("length")
    return sa.select(Turn.id, head, length).where(Turn.id.in_(turns))


def _note_excerpts(connection: sa.Connection, cutter: Cutter, notes: list[int]) -> dict[int, Excerpt]:
    if not notes:
        return {}
    query = sa.text("SELECT rowid AS key, text FROM search_note WHERE rowid IN :notes")
    rows = connection.execute(query.bindparams(sa.bindparam("notes", expanding=True)), {"notes": notes})
    return {row.key: cutter.excerpt(types.decoded(bytes(row.text))) for row in rows}
