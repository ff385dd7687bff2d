"""Saved views: filters of the list under a name."""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.dialect import upsert
from webapp.store.models import SavedView
from webapp.visible import is_seen

LONGEST_NAME = 128
LONGEST_QUERY = 4000
MOST_VIEWS = 200


class BadView(ValueError):
    """A view cannot be saved as given; the message says what is taken."""


def save(db: orm.Session, name: str, query: str, *, author: str) -> SavedView:
    """Keep `query` under `name`, in place of what had that name, and commit. Raises `BadView`."""
    name = name.strip()
    if not name or len(name) > LONGEST_NAME or not is_seen(name):
        raise BadView(f"a view's name is one line of 1 to {LONGEST_NAME} characters")
    if len(query) > LONGEST_QUERY:
        raise BadView(f"a view's query has at most {LONGEST_QUERY} characters; this one has {len(query)}")
    count = sa.select(sa.func.count()).select_from(SavedView).where(SavedView.name != name)
    if (db.scalar(count) or 0) >= MOST_VIEWS:
        raise BadView(f"at most {MOST_VIEWS} views are kept; remove one first")
    values = {"name": name, "query": query.lstrip("?"), "author": author[:200], "made_at": datetime.now(UTC)}
    db.execute(upsert(SavedView, values, ("name",)))
    db.commit()
    return next(view for view in views(db) if view.name == name)


def views(db: orm.Session) -> list[SavedView]:
    """All of them, by name."""
    saved = db.scalars(sa.select(SavedView).execution_options(populate_existing=True))
    return sorted(saved, key=lambda view: (view.name.casefold(), view.name))


def named(db: orm.Session, name: str) -> SavedView | None:
    """The view of that name, if there is one."""
    return db.scalar(sa.select(SavedView).where(SavedView.name == name.strip()))


def remove(db: orm.Session, view_id: int) -> tuple[str, str] | None:
    """Take a view away and commit; its name and who saved it, None where there is none."""
    deletion = sa.delete(SavedView).where(SavedView.id == view_id).returning(SavedView.name, SavedView.author)
    removed = db.execute(deletion).one_or_none()
    db.commit()
    return None if removed is None else (removed.name, removed.author)
