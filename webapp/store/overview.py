"""A whole session at a glance, for its page: a map of its turns, where it failed, what it spent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypeVarTuple

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.models import Parse, Session, Turn
from webapp.store.turns import MODEL_KINDS, NoSuchTurn

Columns = TypeVarTuple("Columns")

CELLS = 120
MOST_FAILED = 2000
LONGEST = 20_000
"""turns up to which a page adds up what was spent and draws every turn; beyond, the map shows failures alone"""
OUTCOMES = ("other", "none", "clean", "extracted", "repaired", "failed")
"""What a cell of the map shows, the gravest last."""


@dataclass(frozen=True, slots=True)
class Cell:
    """`each` turns from `position` on, and the gravest outcome among them."""

    position: int
    outcome: str
    failed: int


@dataclass(frozen=True, slots=True)
class Spent:
    """What a session's turns say they took together; None where none says so, or there are too many to add up."""

    tokens_in: int | None
    tokens_out: int | None
    cost: float | None


def cells(db: orm.Session, session: Session, most: int = CELLS) -> tuple[list[Cell], int]:
    """The session in at most `most` cells of the same number of turns, and that number."""
    each = max(1, -(-session.turn_count // most))
    found = {row.cell: row for row in db.execute(_cells(session, each))}
    drawn = []
    for cell in range(-(-session.turn_count // each)):
        row = found.get(cell)
        drawn.append(Cell(cell * each, OUTCOMES[row.worst] if row else "other", row.failed if row else 0))
    return drawn, each


def failed_positions(db: orm.Session, session: Session) -> list[int]:
    """Where the session failed, in order; the first 2,000."""
    if not session.failed_count:
        return []
    query = _written(session, sa.select(Turn.position)).where(_failed()).order_by(Turn.position)
    return list(db.scalars(query.limit(MOST_FAILED)))


def spent(db: orm.Session, session: Session) -> Spent:
    if session.turn_count > LONGEST:
        return Spent(None, None, None)
    total = sa.func.sum
    query = sa.select(total(Turn.tokens_in), total(Turn.tokens_out), total(Turn.cost))
    query = query.where(Turn.session_id == session.id, Turn.duplicate_of.is_(None))
    tokens_in, tokens_out, cost = db.execute(query).one()
    return Spent(None if tokens_in is None else int(tokens_in), None if tokens_out is None else int(tokens_out), cost)


def response_position(db: orm.Session, session: Session, number: int) -> int:
    """The position of the response that a strip's mark `number`, from 0, stands for; raises `NoSuchTurn`."""
    has_mark = sa.or_(Turn.raw.is_not(None), Turn.recorded_failure.is_not(None))
    query = _written(session, sa.select(Turn.position)).where(has_mark).order_by(Turn.position)
    found = db.scalar(query.offset(number).limit(1)) if 0 <= number < session.response_count else None
    if found is None:
        raise NoSuchTurn(f"session {session.external_id[:200]!r} has no response {number}")
    return found


def time_before(db: orm.Session, session: Session, position: int) -> datetime | None:
    """When the last turn before `position` that has a time was sent, of the 20 next to it."""
    near = (Turn.session_id == session.id, Turn.position < position, Turn.position >= position - 20)
    query = sa.select(Turn.sent_at).where(*near, Turn.duplicate_of.is_(None), Turn.sent_at.is_not(None))
    return db.scalar(query.order_by(Turn.position.desc()).limit(1))


def positions(db: orm.Session, turn_ids: list[int]) -> dict[int, int]:
    """Where turns stand, by their ids."""
    query = sa.select(Turn.id, Turn.position).where(Turn.id.in_(turn_ids))
    return {row.id: row.position for row in db.execute(query)}


def _cells(session: Session, each: int) -> sa.Select[int, int, int]:
    cell = Turn.position.op("/", return_type=sa.Integer())(sa.literal_column(str(each)))
    gravity = sa.case(
        (_failed(), 5),
        *((Parse.verdict == name, grade) for grade, name in enumerate(OUTCOMES) if 0 < grade < 5),
        else_=0,
    )
    count = sa.func.sum(sa.case((_failed(), 1), else_=0))
    query = _written(session, sa.select(cell.label("cell"), sa.func.max(gravity).label("worst"), count.label("failed")))
    if session.turn_count > LONGEST:
        query = query.where(_failed())
    return query.group_by(cell)


def _written(session: Session, query: sa.Select[*Columns]) -> sa.Select[*Columns]:
    """What models wrote in the session, beside their home profile's parses."""
    home = sa.and_(Parse.turn_id == Turn.id, Parse.profile == session.home_profile)
    return query.outerjoin(Parse, home).where(
        Turn.session_id == session.id, Turn.duplicate_of.is_(None), Turn.kind.in_(MODEL_KINDS)
    )


def _failed() -> sa.ColumnElement[bool]:
    return sa.or_(Turn.recorded_failure.is_not(None), sa.func.coalesce(Parse.verdict, "") == "failed")
