"""The list of labels, the newest first, a page at a time, who gave them, and where their expected values came from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db import types
from webapp.store.db.ids import microseconds
from webapp.store.models import Label, Session, Turn
from webapp.store.sessions.filters import cursor_moment, decoded_cursor, encoded_cursor
from webapp.store.sessions.turns import PREVIEW, preview

_CURSOR = "labels"
_OF_LABEL = (
    *("id", "turn_id", "judgement", "cause", "note", "expects", "expected", "author", "seconds"),
    "made_at",
)
_order = (Label.made_at, Label.id)


@dataclass(frozen=True, slots=True)
class LabelLine:
    """One label as the list shows it; `after` leads to the labels behind it."""

    id: int
    turn_id: int
    key: str
    external_id: str
    revision: int
    newest: bool
    position: int
    judgement: str
    cause: str | None
    note: str | None
    expects: str | None
    expected: Any
    author: str
    seconds: float | None
    made_at: datetime
    preview: str | None
    after: str


def page(
    db: orm.Session,
    *,
    after: str | None = None,
    limit: int = 50,
    author: str | None = None,
    judgement: str | None = None,
) -> list[LabelLine]:
    """Labels, the newest first, behind `after`; raises `BadCursor`. Fewer than `limit` are the last ones."""
    query = _lines().order_by(*(column.desc() for column in _order)).limit(limit)
    for column, value in ((Label.author, author), (Label.judgement, judgement)):
        if value:
            query = query.where(column == value)
    if after is not None:
        query = query.where(sa.tuple_(*_order) < _decoded(after))
    return [_line(row) for row in db.execute(query)]


def authors(db: orm.Session) -> dict[str, int]:
    """Who labelled, and how many responses."""
    rows = db.execute(sa.select(Label.author, sa.func.count()).group_by(Label.author)).all()
    return {row[0]: row[1] for row in sorted(rows, key=lambda row: (-row[1], row[0]))}


def _lines() -> sa.Select[*tuple[Any, ...]]:
    query: sa.Select[*tuple[Any, ...]] = sa.select(
        *(getattr(Label, name) for name in _OF_LABEL),
        *(Session.key, Session.external_id, Session.revision, Session.newest, Turn.position),
        types.head(Turn.raw, 4 * PREVIEW).label("head"),
    )
    query = query.join(Turn, Turn.id == Label.turn_id).join(Session, Session.id == Turn.session_id)
    return query.where(Session.deleted_at.is_(None))


def _line(row: sa.Row[*tuple[Any, ...]]) -> LabelLine:
    values = dict(row._mapping)
    head = values.pop("head")
    cursor = encoded_cursor(_CURSOR, [microseconds(row.made_at), row.id])
    return LabelLine(**values, preview=None if head is None else preview(bytes(head)), after=cursor)


def _decoded(after: str) -> Any:
    """Where the label of a cursor stands in the order."""
    made_at, label_id = decoded_cursor(after, _CURSOR, 2)
    return sa.tuple_(sa.literal(cursor_moment(made_at), Label.made_at.type), sa.literal(label_id, sa.BigInteger()))


def sources(db: orm.Session) -> dict[str, int]:
    """How many labels have an expected value, by where it came from (a profile, or typed), the most first."""
    query = sa.select(Label.source, sa.func.count()).where(Label.expects.in_(("one", "several")))
    rows = db.execute(query.group_by(Label.source).order_by(sa.func.count().desc(), Label.source)).all()
    return {row[0] or "typed": row[1] for row in rows}
