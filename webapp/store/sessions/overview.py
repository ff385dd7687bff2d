"""A whole session at a glance, for its page: a map of its turns, where it failed, what it spent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.models import Session, Turn
from webapp.store.sessions.turns import FAILED, Mark, NoSuchTurn, marks

CELLS = 120
LONGEST = 20_000
"""turns up to which a page adds up what was spent"""


@dataclass(frozen=True, slots=True)
class Cell:
    """Turns from `position` to `last`, and the letters of the responses among them, as in the session's strip."""

    position: int
    last: int
    letters: str

    @property
    def failed(self) -> int:
        return sum(map(self.letters.count, FAILED))


def cells(session: Session, marks: Iterable[Mark]) -> tuple[list[Cell], int]:
    """The session in at most `CELLS` cells of the same number of turns, and that number."""
    each = max(1, -(-session.turn_count // CELLS))
    letters: dict[int, str] = defaultdict(str)
    for position, letter in marks:
        letters[position // each] += letter
    starts = range(0, session.turn_count, each)
    return [Cell(at, min(at + each, session.turn_count) - 1, letters[at // each]) for at in starts], each


def spent(db: orm.Session, session: Session) -> Any:
    """Tokens and cost that its turns say they took, each None where none says so; {} where there are too many turns."""
    if session.turn_count > LONGEST:
        return {}
    sums = (sa.func.sum(column).label(column.key) for column in (Turn.tokens_in, Turn.tokens_out, Turn.cost))
    query = sa.select(*sums).where(Turn.session_id == session.id, Turn.duplicate_of.is_(None))
    return db.execute(query).one()


def response_position(db: orm.Session, session: Session, number: int) -> int:
    """The position of the response that a strip's mark `number`, from 0, stands for; raises `NoSuchTurn`."""
    in_order = marks(db, session)
    if not 0 <= number < len(in_order):
        raise NoSuchTurn(f"session {session.external_id[:200]!r} has no response {number}")
    return in_order[number][0]


def time_before(db: orm.Session, session: Session, position: int) -> datetime | None:
    """When the last turn before `position` that has a time was sent, of the 20 next to it."""
    near = (Turn.session_id == session.id, Turn.position < position, Turn.position >= position - 20)
    query = sa.select(Turn.sent_at).where(*near, Turn.duplicate_of.is_(None), Turn.sent_at.is_not(None))
    return db.scalar(query.order_by(Turn.position.desc()).limit(1))
