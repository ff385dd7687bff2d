"""Appends sessions as they came, and has them derived: whole in one transaction, or a long one piece by piece;
and marks those that still grow."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

import sqlalchemy as sa

from webapp.dumps.linked_turns import LOOKAHEAD
from webapp.dumps.records import Turn
from webapp.store import derive
from webapp.store.db import database, ids
from webapp.store.db.dialect import change, clock, insert_new, take_locks
from webapp.store.models import Session
from webapp.store.write import stored_turns, turn_rows
from webapp.store.write.session_state import SessionInput, SessionOutcome, columns
from webapp.store.write.tally import Tally
from webapp.store.write.turn_rows import OnProblem, TurnBatch, TurnRows

_sessions: sa.Table = Session.__table__  # type: ignore[assignment]
_bring_back = (
    sa.update(_sessions)
    .where(_sessions.c.id == sa.bindparam("session"), _sessions.c.deleted_at.is_not(None))
    .values(deleted_at=None, changed=change())
)
_insert = insert_new(_sessions, None, ("key",)).returning(_sessions.c.id)

OnPiece = Callable[[sa.Connection, SessionOutcome], None]


class _Target(NamedTuple):
    """The stored session that turns go to: of those that come, `skip` entries are there, and `tally` has them."""

    what: Literal["new", "grown", "found"]
    id: int
    key: str
    external_id: str
    skip: int
    tally: Tally

    def outcome(self, new_turns: int) -> SessionOutcome:
        return SessionOutcome(self.what, self.id, self.key, self.external_id, new_turns)


def write(
    connection: sa.Connection,
    sessions: Sequence[SessionInput],
    *,
    dump_id: int,
    on_problem: OnProblem,
    anew: bool = False,
) -> list[SessionOutcome]:
    """Append sessions of different ids, each whole, and derive those that are new or grew; the caller commits.

    With `anew` a session that today's format reads otherwise than it is stored becomes a new revision.
    """
    lock(connection, *(session.start.external_id for session in sessions))
    batch, outcomes = TurnBatch(), list[SessionOutcome]()
    for session in sessions:
        target = _target(connection, session, dump_id, anew=anew)
        new = TurnRows(target.id, target.tally, batch, on_problem)
        before, appended = new.count, _appended(target, session.turns, new)
        while _fill(batch, appended) and batch.is_full:
            batch.write(connection)
        outcomes.append(target.outcome(new.count - before))
    batch.write(connection)
    derive.derive(connection, [one.id for one in outcomes if one.what != "found"])
    return outcomes


def write_long(
    engine: sa.Engine,
    session: SessionInput,
    *,
    dump_id: int,
    on_problem: OnProblem,
    on_piece: OnPiece,
    between: Callable[[], None],
    anew: bool = False,
) -> SessionOutcome:
    """Append a session of any length, some turns a transaction, and derive it now and then, and in the end.

    `on_piece` hears of each piece in its transaction, `between` is called between two, and may raise. Where somebody
    else grows the session meanwhile, what came is compared with it again. What was appended before something is raised
    stays, and is derived; so is what somebody appended who was killed before that.
    """
    new, outcome = None, None
    try:
        while True:
            with database.writing_long(engine) as connection:
                lock(connection, session.start.external_id)
                if new is None or stored_turns.count(connection, new.session_id) != new.count:
                    target = _target(connection, session, dump_id, anew=anew)
                    new = TurnRows(target.id, target.tally, TurnBatch(), on_problem)
                    appended = _appended(target, session.turns, new)
                before = new.count
                is_more = _fill(new.batch, appended)
                new.batch.write(connection)
                piece = target.outcome(new.count - before)
                derive.mark_stale(connection, [target.id] if piece.new_turns else [])
                on_piece(connection, piece)
            outcome = replace(outcome, new_turns=outcome.new_turns + piece.new_turns) if outcome else piece
            if not is_more:
                return outcome
            derive.grown(engine, [target.id])
            between()
    finally:
        if outcome is not None and outcome.what == "found":
            derive.catch_up(engine)
        elif outcome is not None:
            derive.settle(engine, [outcome.id])


def _fill(batch: TurnBatch, appended: Iterator[None]) -> bool:
    """Take turns until a piece is full; whether there were any."""
    for _ in appended:
        if batch.is_full:
            break
    return bool(batch.turns)


def _target(connection: sa.Connection, session: SessionInput, dump_id: int, *, anew: bool) -> _Target:
    """Where the turns of a session go: to the newest revision that has all of them, else to one that they continue.

    With `anew` a revision that today's format reads otherwise is none of these, though its entries are the same.
    """
    name, external_id = session.start.external_id, ids.shortened(session.start.external_id)
    revisions = turn_rows.revisions(connection, external_id)
    entries = b"".join(turn_rows.entry_digests(session.turns)) if revisions else b""

    def fits(number: int) -> bool:
        return not anew or turn_rows.same_reading(connection, number, session.turns)

    for row, stored in revisions:
        if stored.startswith(entries) and fits(row.id):
            connection.execute(_bring_back, {"session": row.id})
            return _Target("found", row.id, row.key, name, 0, Tally())
    for row, stored in revisions:
        if entries.startswith(stored) and fits(row.id):
            connection.execute(_bring_back, {"session": row.id})
            tally = stored_turns.places(connection, row.id)
            return _Target("grown", row.id, row.key, name, len(stored) // turn_rows.DIGEST, tally)
    revision = 1 + max((row.revision for row, _ in revisions), default=0)
    number, key = _add(connection, columns(session, external_id, revision, dump_id))
    return _Target("new", number, key, name, 0, Tally())


def _add(connection: sa.Connection, values: dict[str, Any]) -> tuple[int, str]:
    """Insert a session under the first of its keys that is free; its number and that key."""
    keys = (ids.key(values["external_id"], values["revision"], attempt) for attempt in itertools.count())
    tries = ((connection.scalar(_insert, values | {"key": key, "changed": clock()}), key) for key in keys)
    return next((number, key) for number, key in tries if number is not None)


def _appended(target: _Target, turns: Iterable[Turn], new: TurnRows) -> Iterator[None]:
    """Append the turns after those that are stored, and put to these what is known of them only now."""
    if target.what == "found":
        return
    entries, last = 0, None
    near: deque[tuple[int, Turn]] = deque(maxlen=2 * LOOKAHEAD)
    for ordinal, turn in enumerate(turns):
        if turn.entry != last:
            entries, last = entries + 1, turn.entry
        if entries <= target.skip:
            if turn.failure is not None:
                new.learn(ordinal, turn)
            near.append((ordinal, turn))
            continue
        while near:
            new.learn(*near.popleft())
        if not new.add(turn):
            return
        yield


def lock(connection: sa.Connection, *external_ids: str) -> None:
    """Let no other transaction write a revision of these ids before this one ends."""
    take_locks(connection, *(ids.lock_number(ids.shortened(external_id)) for external_id in external_ids))


def mark_live(connection: sa.Connection, session_ids: Collection[int]) -> None:
    """Say of sessions, by their numbers, that turns arrived just now; an import of a finished file never does."""
    if session_ids:
        connection.execute(sa.update(Session).where(Session.id.in_(session_ids)).values(grown_at=datetime.now(UTC)))


def mark_watched(engine: sa.Engine, keys: Collection[str], after: int) -> None:
    """Mark those of the sessions `keys` that changed after `after`, a time of `dialect.clock`; in a transaction."""
    changed = sa.update(Session).where(Session.key.in_(keys), Session.changed > after)
    with engine.begin() as connection:
        connection.execute(changed.values(grown_at=datetime.now(UTC)))
