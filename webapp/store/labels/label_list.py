"""The list of labels, the newest first, a page at a time, who gave them, and where their expected values came from."""

from __future__ import annotations

from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db import types
from webapp.store.models import Label, Session, Turn
from webapp.store.sessions.filters import behind, cursor, cursor_place, order_by, place
from webapp.store.sessions.turns import PREVIEW, preview

_ORDER = "labels"
_lines = (
    sa.select(Label, Session, Turn.position, types.head(Turn.raw, 4 * PREVIEW).label("head"))
    .options(orm.load_only(Session.key, Session.external_id, Session.revision, Session.newest))
    .join(Turn, Turn.id == Label.turn_id)
    .join(Session, Session.id == Turn.session_id)
    .where(Session.deleted_at.is_(None))
    .order_by(*order_by(_ORDER))
)


class LabelLine(NamedTuple):
    """A label, the session and position of its response, and the beginning of that."""

    label: Label
    session: Session
    position: int
    preview: str | None


def page(
    db: orm.Session,
    *,
    after: str | None = None,
    limit: int = 50,
    author: str | None = None,
    judgement: str | None = None,
) -> tuple[list[LabelLine], str | None]:
    """Labels, the newest first, behind `after`, and the cursor of the next ones; raises `BadCursor`."""
    query = _lines.limit(limit + 1)
    for column, value in ((Label.author, author), (Label.judgement, judgement)):
        if value:
            query = query.where(column == value)
    if (last := cursor_place(_ORDER, after)) is not None:
        query = query.where(behind(_ORDER, last))
    rows = db.execute(query).all()
    lines = [
        LabelLine(label, session, at, None if head is None else preview(bytes(head)))
        for label, session, at, head in rows[:limit]
    ]
    return lines, cursor(_ORDER, place(_ORDER, lines[-1].label)) if len(rows) > limit else None


def authors(db: orm.Session) -> dict[str, int]:
    """Who labelled, and how many responses."""
    rows = db.execute(sa.select(Label.author, sa.func.count()).group_by(Label.author)).all()
    return {row[0]: row[1] for row in sorted(rows, key=lambda row: (-row[1], row[0]))}


def sources(db: orm.Session) -> dict[str, int]:
    """How many labels have an expected value, by where it came from (a profile, or typed), the most first."""
    query = sa.select(Label.source, sa.func.count()).where(Label.expects.in_(("one", "several")))
    rows = db.execute(query.group_by(Label.source).order_by(sa.func.count().desc(), Label.source)).all()
    return {row[0] or "typed": row[1] for row in rows}
