"""Saved views: filters of the list under a name; the `content` has the `query` of their URL. What else has a name."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.refusals import BadInput
from webapp.store import saved
from webapp.store.db.ids import short
from webapp.store.models import FacetValue, SavedItem, SessionFacet
from webapp.store.sessions import where
from webapp.store.write.facets import LONGEST
from webapp.visible import is_seen

KIND = "view"
LONGEST_NAME = 128
LONGEST_QUERY = 4000
MOST_VIEWS = 200


class BadView(BadInput):
    """A view cannot be saved as given; the message says what is taken."""


def save(db: orm.Session, name: str, query: str, *, author: str) -> SavedItem:
    """Keep `query` under `name`, in place of what had that name, and commit. Raises `BadView`."""
    name = name.strip()
    if not name or len(name) > LONGEST_NAME or not is_seen(name):
        raise BadView(f"a view's name is one line of 1 to {LONGEST_NAME} characters")
    if len(query) > LONGEST_QUERY:
        raise BadView(f"a view's query has at most {LONGEST_QUERY} characters; this one has {len(query)}")
    if sum(view.name != name for view in views(db)) >= MOST_VIEWS:
        raise BadView(f"at most {MOST_VIEWS} views are kept; remove one first")
    saved.put(db, KIND, name, {"query": query.lstrip("?")}, author[:200])
    db.commit()
    return next(view for view in views(db) if view.name == name)


def views(db: orm.Session) -> list[SavedItem]:
    """All of them, by name."""
    return sorted(saved.every(db, KIND), key=lambda view: (view.name.casefold(), view.name))


def named(db: orm.Session, name: str) -> SavedItem | None:
    """The view of that name, if there is one."""
    return saved.find(db, KIND, name.strip())


def remove(db: orm.Session, view_id: int) -> SavedItem | None:
    """Take a view away and commit; what it was, None where there is none."""
    removed = saved.remove(db, view_id, KIND)
    db.commit()
    return removed


FACETS = ("model", "tool", "host", "service", "agent")
"""filters of the list whose values are found"""


def facets(db: orm.Session, text: str, most: int) -> list[tuple[str, str]]:
    """Filter and value, of those that some session has which is no example beside others."""
    is_listed = sa.exists().where(SessionFacet.value_id == FacetValue.id, SessionFacet.session_id.not_in(where.hidden))
    query = sa.select(FacetValue.name, FacetValue.value)
    has_text = sa.func.lower(FacetValue.value).contains(short(text.lower(), LONGEST), autoescape=True)
    query = query.where(FacetValue.name.in_(FACETS), has_text, is_listed)
    return [(row.name, row.value) for row in db.execute(query.order_by(FacetValue.value).limit(most))]


def views_named(db: orm.Session, text: str, most: int) -> list[SavedItem]:
    """Saved views that have the text in their names."""
    return [view for view in views(db) if text.lower() in view.name.lower()][:most]
