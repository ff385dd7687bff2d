"""A whole session at a glance, for its page: a map of its turns, where it failed, what it spent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.models import Parse, Session, Turn, has_mark
from webapp.store.sessions.turns import NoSuchTurn, has_failed_here, written

CELLS = 120
MOST_FAILED = 2000
LONGEST = 20_000
"""turns up to which a page adds up what was spent and draws every turn; beyond, the map shows failures alone"""
OUTCOMES = ("other", "none", "clean", "extracted", "repaired", "failed")
"""What a cell of the map shows, the gravest last."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Turns from `position` to `last`, the gravest outcome among them, and how many of `of` failed.

    `of` counts what models wrote; in a session of more than `LONGEST` turns all turns, and `of_turns` says so.
    """

    position: int
    last: int
    outcome: str
    failed: int
    of: int
    of_turns: bool


def cells(db: orm.Session, session: Session) -> tuple[list[Cell], int]:
    """The session in at most `CELLS` cells of the same number of turns, and that number."""
    turns_a_cell = max(1, -(-session.turn_count // CELLS))
    by_cell = {row.cell: row for row in db.execute(_cells(session, turns_a_cell))}
    numbers = range(-(-session.turn_count // turns_a_cell))
    return [_cell(session, number, turns_a_cell, by_cell.get(number)) for number in numbers], turns_a_cell


def _cell(session: Session, number: int, turns_a_cell: int, row: Any) -> Cell:
    first = number * turns_a_cell
    last = min(first + turns_a_cell, session.turn_count) - 1
    of_turns = session.turn_count > LONGEST
    outcome, failed, responses = (OUTCOMES[row.worst], row.failed, row.responses) if row else ("other", 0, 0)
    return Cell(first, last, outcome, failed, last - first + 1 if of_turns else responses, of_turns)


def failed_positions(db: orm.Session, session: Session) -> list[int]:
    """Where the session failed, in order; the first 2,000."""
    if not session.failed_count:
        return []
    query = written(session, sa.select(Turn.position)).where(has_failed_here(session)).order_by(Turn.position)
    return list(db.scalars(query.limit(MOST_FAILED)))


def spent(db: orm.Session, session: Session) -> Any:
    """Tokens and cost that its turns say they took, each None where none says so; {} where there are too many turns."""
    if session.turn_count > LONGEST:
        return {}
    sums = (sa.func.sum(column).label(column.key) for column in (Turn.tokens_in, Turn.tokens_out, Turn.cost))
    query = sa.select(*sums).where(Turn.session_id == session.id, Turn.duplicate_of.is_(None))
    return db.execute(query).one()


def response_position(db: orm.Session, session: Session, number: int) -> int:
    """The position of the response that a strip's mark `number`, from 0, stands for; raises `NoSuchTurn`."""
    query = written(session, sa.select(Turn.position)).where(has_mark(Turn)).order_by(Turn.position)
    position = db.scalar(query.offset(number).limit(1)) if 0 <= number < session.response_count else None
    if position is None:
        raise NoSuchTurn(f"session {session.external_id[:200]!r} has no response {number}")
    return position


def time_before(db: orm.Session, session: Session, position: int) -> datetime | None:
    """When the last turn before `position` that has a time was sent, of the 20 next to it."""
    near = (Turn.session_id == session.id, Turn.position < position, Turn.position >= position - 20)
    query = sa.select(Turn.sent_at).where(*near, Turn.duplicate_of.is_(None), Turn.sent_at.is_not(None))
    return db.scalar(query.order_by(Turn.position.desc()).limit(1))


def _cells(session: Session, turns_a_cell: int) -> sa.Select[int, int, int, int]:
    cell = Turn.position.op("/", return_type=sa.Integer())(sa.literal_column(str(turns_a_cell)))
    gravity = sa.case(
        (has_failed_here(session), 5),
        *((Parse.verdict == name, grade) for grade, name in enumerate(OUTCOMES) if 0 < grade < 5),
        else_=0,
    )
    count = sa.func.sum(sa.case((has_failed_here(session), 1), else_=0))
    query = written(
        session,
        sa.select(
            cell.label("cell"),
            sa.func.max(gravity).label("worst"),
            count.label("failed"),
            sa.func.count().label("responses"),
        ),
    )
    if session.turn_count > LONGEST:
        query = query.where(has_failed_here(session))
    return query.group_by(cell)
