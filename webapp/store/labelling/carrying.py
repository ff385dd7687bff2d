"""Carrying over: what was said of the same text in another revision of the session."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.models import Label, Session, Turn


@dataclass(frozen=True, slots=True)
class Carried:
    """A label of the same text in `session`, another revision."""

    label: Label
    session: Session
    position: int


def earlier(db: orm.Session, session: Session, turn: Turn, author: str) -> Carried | None:
    """What `author` last said of this text in another revision of the same session."""
    query = (
        sa.select(Label, Session, Turn.position)
        .join(Turn, Turn.id == Label.turn_id)
        .join(Session, Session.id == Turn.session_id)
        .where(Session.external_id == session.external_id, Session.id != session.id, Session.deleted_at.is_(None))
        .where(Turn.raw_sha256 == turn.raw_sha256, Label.author == author)
    )
    row = db.execute(query.order_by(Label.made_at.desc()).limit(1)).first()
    return None if row is None else Carried(*row)
