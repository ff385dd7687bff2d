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
    if session.revision == 1 and session.newest:
        return None
    here = {"session": session.id, "external_id": session.external_id, "sha256": turn.raw_sha256, "author": author}
    row = db.execute(_earlier, here).first()
    return None if row is None else Carried(*row)


_earlier = (
    sa.select(Label, Session, Turn.position)
    .join(Turn, Turn.id == Label.turn_id)
    .join(Session, Session.id == Turn.session_id)
    .where(
        Session.external_id == sa.bindparam("external_id"),
        Session.id != sa.bindparam("session"),
        Session.deleted_at.is_(None),
        Turn.raw_sha256 == sa.bindparam("sha256"),
        Label.author == sa.bindparam("author"),
    )
    .order_by(Label.made_at.desc())
    .limit(1)
)
