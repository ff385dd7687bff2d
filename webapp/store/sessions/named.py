"""What there is under a name: sessions, models, tools, hosts, services and saved views that have a text in theirs."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.dialect import contains
from webapp.store.db.ids import short
from webapp.store.models import FacetValue, Session, SessionFacet
from webapp.store.saved import Saved
from webapp.store.sessions import example_sessions, where
from webapp.store.sessions import views as saved_views
from webapp.store.write.facets import LONGEST

FACETS = ("model", "tool", "host", "service", "agent")
"""filters of the list whose values are found"""


def sessions(db: orm.Session, text: str, most: int) -> list[Session]:
    """Those whose id has `text` in it, the newest first."""
    query = sa.select(Session).where(contains(Session.external_id, text), where.listed)
    return list(db.scalars(query.order_by(Session.id.desc()).limit(most)))


def facets(db: orm.Session, text: str, most: int) -> list[tuple[str, str]]:
    """Filter and value, of those that some session has which is no example beside others."""
    is_listed = sa.exists().where(
        SessionFacet.value_id == FacetValue.id, SessionFacet.session_id.not_in(example_sessions.hidden)
    )
    query = sa.select(FacetValue.name, FacetValue.value)
    has_text = sa.func.lower(FacetValue.value).contains(short(text.lower(), LONGEST), autoescape=True)
    query = query.where(FacetValue.name.in_(FACETS), has_text, is_listed)
    return [(row.name, row.value) for row in db.execute(query.order_by(FacetValue.value).limit(most))]


def views(db: orm.Session, text: str, most: int) -> list[Saved]:
    return [view for view in saved_views.views(db) if text.lower() in view.name.lower()][:most]
