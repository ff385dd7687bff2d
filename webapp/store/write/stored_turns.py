"""Reads stored turns in order, with their traces, and findings: the facts of which `store.derive` makes the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.dumps.records import Stop, Turn
from webapp.findings import rulebook
from webapp.parsing import Trace
from webapp.store.db.ids import batched
from webapp.store.models import TURNS_A_SESSION, Declaration, Finding, LiveSpan, Parse
from webapp.store.models import Turn as StoredTurn
from webapp.store.models.sessions import SAME_IN_TURNS
from webapp.store.write.parser import OURS
from webapp.store.write.tally import MODEL_KINDS, PlacedTurn, Tally

_AT_ONCE = 500
"""rows fetched together; a row holds a turn, its entry and its traces"""

home_parse, our_parse = orm.aliased(Parse), orm.aliased(Parse)


def join_parses(query: sa.Select[*tuple[Any, ...]], home: Any) -> sa.Select[*tuple[Any, ...]]:
    """Turns with their `home_parse` under the profile `home`, and `our_parse` under `fencepost`; NULL for none."""
    query = query.outerjoin(home_parse, sa.and_(home_parse.turn_id == StoredTurn.id, home_parse.profile == home))
    return query.outerjoin(our_parse, sa.and_(our_parse.turn_id == StoredTurn.id, our_parse.profile == OURS))


_original = (StoredTurn.duplicate_of - (StoredTurn.id - StoredTurn.ordinal)).label("original")
_NOT_READ = ("attempt", "parent", "source", "raw_at")
_SAME = tuple(name for name in SAME_IN_TURNS if name not in _NOT_READ)
"""columns that a turn has under the same name, but for those of which nothing is made"""
_OTHERS = (
    *("id", "session_id", "ordinal", "position", "recorded_failure"),
    *("stop", "stop_said", "declaration_id", "answers"),
)
_turns = sa.select(*(getattr(StoredTurn, name) for name in (*_OTHERS, *_SAME)), _original)
_next_turns = (
    _turns.where(StoredTurn.id >= sa.bindparam("next"), StoredTurn.id < sa.bindparam("end"))
    .order_by(StoredTurn.id)
    .limit(_AT_ONCE)
)
_these_turns = _turns.where(StoredTurn.id.in_(sa.bindparam("turns", expanding=True)))
_in_time = sa.select(
    *(LiveSpan.session_id, LiveSpan.entry),
    sa.func.lag(LiveSpan.entry)
    .over(partition_by=LiveSpan.session_id, order_by=(LiveSpan.started, LiveSpan.entry))
    .label("before"),
).where(LiveSpan.session_id.between(sa.bindparam("first"), sa.bindparam("last")))
_spans = _in_time.subquery()
_find_late = sa.select(_spans.c.session_id).where(_spans.c.before > _spans.c.entry).distinct()
_parses = (
    sa.select(Parse.turn_id, Parse.trace)
    .where(Parse.turn_id.in_(sa.bindparam("turns", expanding=True)))
    .order_by(Parse.turn_id, Parse.profile)
)
_content = sa.select(Declaration.content).where(Declaration.id == sa.bindparam("declaration"))
_places = (
    sa.select(StoredTurn.entry, StoredTurn.kind, StoredTurn.raw.is_not(None), _original, StoredTurn.position)
    .where(StoredTurn.session_id == sa.bindparam("session"))
    .order_by(StoredTurn.ordinal)
    .execution_options(yield_per=2000)
)
_last = sa.select(sa.func.max(StoredTurn.ordinal)).where(StoredTurn.session_id == sa.bindparam("session"))


def late(connection: sa.Connection, first: int, last: int) -> dict[int, Tally]:
    """Those of the sessions from the number `first` to `last` of which spans came late: where their turns stand."""
    ids = connection.scalars(_find_late, {"first": first, "last": last}).all()
    return {session_id: places(connection, session_id) for session_id in ids}


def pages(connection: sa.Connection, first: int, last: int, late: Mapping[int, Tally]) -> Iterator[Sequence[Any]]:
    """The turns of the sessions from the number `first` to `last`, as rows, some at a time, in their order; those of
    `late` ones, which came in another, by their positions."""
    for session_id in sorted(late):
        yield from _as_they_came(connection, first, session_id - 1)
        yield from _by_position(connection, session_id, late[session_id].positions)
        first = session_id + 1
    yield from _as_they_came(connection, first, last)


def _as_they_came(connection: sa.Connection, first: int, last: int) -> Iterator[Sequence[Any]]:
    about = {"next": first * TURNS_A_SESSION, "end": (last + 1) * TURNS_A_SESSION}
    while rows := connection.execute(_next_turns, about).all():
        yield rows
        if len(rows) < _AT_ONCE:
            return
        about["next"] = rows[-1].id + 1


def _by_position(connection: sa.Connection, session_id: int, positions: Sequence[int]) -> Iterator[list[Any]]:
    first = session_id * TURNS_A_SESSION
    for part in batched(sorted(range(len(positions)), key=positions.__getitem__), _AT_ONCE):
        ids = [first + ordinal for ordinal in part]
        rows = {row.id: row for row in connection.execute(_these_turns, {"turns": ids})}
        yield [rows[number] for number in ids if number in rows]


def stored_traces(connection: sa.Connection, rows: Iterable[Any]) -> dict[int, dict[str, Trace]]:
    """What profiles made of these turns so far: traces by turn and profile."""
    traces: dict[int, dict[str, Trace]] = {}
    responses = [row.id for row in rows if row.kind in MODEL_KINDS]
    for row in connection.execute(_parses, {"turns": responses}):
        trace = Trace.from_dict(row.trace)
        traces.setdefault(row.turn_id, {})[trace.profile] = trace
    return traces


def declarations(connection: sa.Connection) -> Callable[[int | None], dict[str, Any] | None]:
    """Gives what requests declare by its number, an object once however many turns refer to it."""

    @cache
    def find(number: int | None) -> dict[str, Any] | None:
        return None if number is None else connection.scalars(_content, {"declaration": number}).one()

    return find


def places(connection: sa.Connection, session_id: int) -> Tally:
    """Where the stored turns of a session stand, so that further ones find their places: no verdicts."""
    tally = Tally()
    for row in connection.execute(_places, {"session": session_id}):
        tally.put(*row)
    return tally


def count(connection: sa.Connection, session_id: int) -> int:
    """How many turns a session has."""
    last = connection.scalar(_last, {"session": session_id})
    return 0 if last is None else last + 1


def placed(
    row: Any,
    answers: int | None,
    declared: dict[str, Any] | None,
    traces: tuple[Trace, ...],
    not_counted: Sequence[Trace],
) -> PlacedTurn:
    """The turn of a row, as the fold sees it; `answers` is the position of the response that an error speaks of."""
    stop = None if row.stop is None else Stop(row.stop, row.stop_said or "")
    about: dict[str, Any] = {"failure": row.recorded_failure, "stop": stop, "declared": declared}
    turn = Turn(**about, **dict(zip(_SAME, row[len(_OTHERS) :], strict=False)))
    return PlacedTurn(row.ordinal, row.position, row.original, turn, traces, answers, tuple(not_counted))


def findings_of(db: orm.Session, session_id: int) -> list[Finding]:
    """The findings of a session, what weighs most first."""
    order = {name: rank for rank, name in enumerate(rulebook.rules())}
    rows = db.scalars(sa.select(Finding).where(Finding.session_id == session_id).order_by(Finding.id))
    return sorted(rows, key=lambda finding: order.get(finding.rule, len(order)))


def finding_dict(finding: Finding) -> dict[str, Any]:
    """A finding as dumps and the API say it; `reason` is its sentence, `turns` are positions."""
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        "reason": rulebook.reason(finding),
        "turns": finding.turns,
        "detail": finding.detail,
    }
