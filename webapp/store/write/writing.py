"""Writes sessions: new ones whose rows are made, many at a time, or one as its turns come."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Literal

import sqlalchemy as sa

from webapp.dumps.records import LaterKnown, Problem, Turn
from webapp.dumps.turn_window import LOOKAHEAD
from webapp.store import search
from webapp.store.db import ids
from webapp.store.db.dialect import change
from webapp.store.models import Session, SessionModel
from webapp.store.write import (
    contracts,
    derived,
    finding_runner,
    growth,
    list_rows,
    row_values,
    rows,
    stored_turns,
)
from webapp.store.write.parser import SessionParser
from webapp.store.write.session_rows import NewSession, SessionInput, SessionRows, columns
from webapp.store.write.session_state import SessionState
from webapp.store.write.session_writer import SessionWriter
from webapp.store.write.state_cache import find_changed

_sessions: sa.Table = Session.__table__  # type: ignore[assignment]
_insert_session = sa.insert(Session).returning(Session.id)
_insert_models = sa.insert(SessionModel)
_bring_back = (
    sa.update(_sessions)
    .where(_sessions.c.id == sa.bindparam("session"), _sessions.c.deleted_at.is_not(None))
    .values(deleted_at=None, changed=change())
)
_lock_row = find_changed.with_for_update(key_share=True)
_has_key = sa.select(Session.id).where(Session.key == sa.bindparam("key"))
_has_id = sa.select(Session.id).where(Session.external_id == sa.bindparam("external_id")).limit(1)
_known_ids = sa.select(Session.external_id).where(Session.external_id.in_(sa.bindparam("ids", expanding=True)))
_next_change = sa.select(change())
_take_locks = sa.text("SELECT count(pg_advisory_xact_lock(number)) FROM unnest(CAST(:numbers AS bigint[])) AS number")
"""in the order of the array"""

OnProblem = Callable[[Problem], None]


@dataclass(frozen=True, slots=True)
class SessionOutcome:
    """What became of one session of a dump: `new`, `grown`, or `found` where all of it was there."""

    what: Literal["new", "grown", "found"]
    id: int
    key: str
    new_turns: int


def known(connection: sa.Connection, external_ids: Iterable[str]) -> set[str]:
    """Those of these ids of which sessions are stored."""
    stored_ids = {external_id: ids.shortened(external_id) for external_id in external_ids}
    found = set(connection.scalars(_known_ids, {"ids": list(set(stored_ids.values()))}))
    return {external_id for external_id, stored_id in stored_ids.items() if stored_id in found}


def write_new(
    connection: sa.Connection,
    sessions: Sequence[NewSession],
    *,
    dump_id: Callable[[sa.Connection], int],
    index: search.Pending,
) -> list[SessionOutcome | None]:
    """Store those of `sessions` that are new; None stands for one whose id or key is there, or stands twice in them.

    The caller commits, and flushes `index` before.
    """
    lock(connection, *(session.external_id for session in sessions))
    new = _new(connection, sessions)
    if not new:
        return [None] * len(sessions)
    dump, changed = dump_id(connection), connection.execute(_next_change).scalar_one()
    values = [session.values | {"dump_id": dump, "changed": changed} for session in new]
    numbers = dict(zip(map(id, new), rows.insert_sessions(connection, values), strict=True))
    for session in new:
        session.number(numbers[id(session)])
        index.add(session.texts)
        index.note(*session.notes)
    _insert(connection, new, numbers)
    outcomes = {
        id(session): SessionOutcome("new", numbers[id(session)], session.values["key"], len(session.turns))
        for session in new
    }
    return [outcomes.get(id(session)) for session in sessions]


def _new(connection: sa.Connection, sessions: Sequence[NewSession]) -> list[NewSession]:
    first = {session.external_id: session for session in reversed(sessions)}
    keys = {session.values["key"]: session for session in first.values()}
    query = sa.select(Session.external_id, Session.key)
    stored_query = query.where(sa.or_(Session.external_id.in_(list(first)), Session.key.in_(list(keys))))
    for row in connection.execute(stored_query):
        first.pop(row.external_id, None)
        keys.pop(row.key, None)
    return [
        session
        for session in sessions
        if first.get(session.external_id) is session and keys.get(session.values["key"]) is session
    ]


def _insert(connection: sa.Connection, sessions: Sequence[NewSession], numbers: Mapping[int, int]) -> None:
    rows.insert_values(connection, rows.turns, row_values.TURN, [row for session in sessions for row in session.turns])
    rows.insert_values(
        connection, rows.parses, row_values.PARSE, [row for session in sessions for row in session.parses]
    )
    rows.insert_values(
        connection, rows.repairs, row_values.REPAIR, [row for session in sessions for row in session.repairs]
    )
    models = [{"session_id": numbers[id(session)], "model": name} for session in sessions for name in session.models]
    if models:
        connection.execute(_insert_models, models)
    finding_runner.insert(connection, {numbers[id(session)]: session.findings for session in sessions})
    contracts.insert(connection, [row for session in sessions for row in session.contracts])
    list_rows.renew(connection, numbers.values())


def write(
    connection: sa.Connection,
    session: SessionInput,
    *,
    dump_id: Callable[[sa.Connection], int],
    on_problem: OnProblem,
    index: search.Pending,
    anew: bool = False,
) -> SessionOutcome:
    """Store a session whole: new, grown, or nothing where all of it is there. The caller commits.

    The caller flushes `index` before it commits, so that the texts of several sessions go in together.
    Its turns are gone through twice. `dump_id` is asked only where something is to be written. With `anew` a session
    that today's format reads otherwise than it is stored becomes a new revision.
    """
    start, turns, home = session.start, session.turns, session.home
    external_id = ids.shortened(start.external_id)
    lock(connection, external_id)
    plan = growth.plan(connection, external_id, turns, anew=anew)
    if plan.stored is not None:
        if connection.execute(_bring_back, {"session": plan.stored.id}).rowcount:
            list_rows.renew(connection, [plan.stored.id])
        if not plan.grows:
            return SessionOutcome("found", plan.stored.id, plan.stored.key, 0)
        dump_id(connection)
        return grow(connection, plan.stored, _after(turns, plan.skip), on_problem=on_problem, index=index)
    key = _free_key(connection, external_id, plan.next_revision)
    values = columns(start, external_id, plan.next_revision, key, home) | {"dump_id": dump_id(connection)}
    session_id = connection.scalars(_insert_session, values).one()
    state = SessionState.of_nothing(session_id, home.profile, index)
    writer = SessionWriter(lambda: nullcontext(connection), SessionRows(state, SessionParser(home.profile), on_problem))
    index.note(*search.session_notes(session_id, external_id, start.title))
    return SessionOutcome("new", session_id, key, writer.write(turns))


def grow(
    connection: sa.Connection,
    revision: growth.Stored,
    turns: Iterable[Turn | LaterKnown],
    *,
    on_problem: OnProblem,
    index: search.Pending,
) -> SessionOutcome:
    """Append turns that follow those of a stored session, which the caller has locked; the caller commits.

    A session that is not in the index yet comes into it whole, by `db reindex`.
    """
    connection.execute(_lock_row, {"session": revision.id})
    state = stored_turns.fold(connection, revision.id, revision.home)
    state.index = index if search.is_indexed(connection, revision.id) else None
    session_rows = SessionRows(state, SessionParser(revision.home), on_problem)
    writer = SessionWriter(lambda: nullcontext(connection), session_rows, grows_again=True)
    count = writer.write(turns)
    if writer.learned:
        _refold(connection, revision)
    return SessionOutcome("grown", revision.id, revision.key, count)


def _refold(connection: sa.Connection, revision: growth.Stored) -> None:
    """Derive anew what later turns told more of, which the rules saw without that."""
    state = stored_turns.fold(connection, revision.id, revision.home)
    state.settle(more_may_come=True)
    derived.store(connection, state)


def _after(turns: Iterable[Turn], skip: int) -> Iterator[Turn | LaterKnown]:
    """The turns after those of the first `skip` entries; before them, what these may only now tell of earlier ones."""
    entries, last = 0, None
    near: deque[LaterKnown] = deque(maxlen=2 * LOOKAHEAD)
    for ordinal, turn in enumerate(turns):
        if turn.entry != last:
            entries, last = entries + 1, turn.entry
        if entries > skip:
            yield from near
            near.clear()
            yield turn
        elif turn.failure is not None:
            yield LaterKnown(ordinal, turn)
        else:
            near.append(LaterKnown(ordinal, turn))


def lock(connection: sa.Connection, *external_ids: str) -> None:
    """Let no other transaction write a revision of these ids before this one ends (SQLite has but one writer).

    Who takes several takes them in the order of their numbers, and no more of them in the same transaction.
    """
    if connection.dialect.name == "postgresql":
        numbers = sorted({ids.lock_number(external_id) for external_id in external_ids})
        connection.execute(_take_locks, {"numbers": numbers})


def is_taken(connection: sa.Connection, external_id: str, key: str) -> bool:
    """Whether a session of that id or key is stored."""
    taken_id = connection.scalar(_has_id, {"external_id": external_id}) or connection.scalar(_has_key, {"key": key})
    return taken_id is not None


def _free_key(connection: sa.Connection, external_id: str, revision: int) -> str:
    keys = (ids.key(external_id, revision, attempt) for attempt in itertools.count())
    return next(key for key in keys if connection.scalar(_has_key, {"key": key}) is None)
