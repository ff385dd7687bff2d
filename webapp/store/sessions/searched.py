"""A page of the list where something is searched for: the sessions with the newest matches, under the other filters."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store import search
from webapp.store.db.dialect import contains
from webapp.store.models import Session
from webapp.store.sessions import order, where
from webapp.store.sessions.filters import Filters
from webapp.store.sessions.where import View

MOST_COUNTED = 100
"""Sessions that are counted exactly; of a word that more have it is said that there are more."""
_ORDER = "match"


@dataclass(frozen=True, slots=True)
class Hits:
    """The sessions of one page in order, up to three matches of each, and the next cursor."""

    ids: list[int]
    matches: dict[int, list[search.Match]]
    next: str | None


def view(db: orm.Session, filters: Filters, most: int = 0) -> View:
    """The sessions that match, whatever other filters there are; where these are many, those that the filters leave.

    Of many at least `most`, where there are so many. Where nothing has the words, those whose id has the text within.
    """
    most = max(most, MOST_COUNTED)
    text = filters.q or ""
    connection, bare = db.connection(), View(replace(filters, q=None))
    hits = search.sessions(connection, text, [where.listed], most=most)
    if hits.more and hits.ids and bare.is_narrowed():
        hits = search.sessions(connection, text, bare.where(), most=most)
    ids = hits.ids if hits.ids or hits.more else _with_id(connection, text)
    return View(filters, tuple(ids), hits.more)


def page(db: orm.Session, view: View, after: str | None, limit: int) -> Hits:
    """The matches behind `after` in view, the newest session first. Raises `BadCursor`."""
    below = order.position(_ORDER, after)
    connection, text = db.connection(), view.filters.q or ""
    if view.open_ended and below is None:
        ids, more = list(view.matching or ())[:limit], True
    elif view.open_ended:
        conditions = View(replace(view.filters, q=None)).where()
        hits = search.sessions(connection, text, conditions, below=below[0] if below else None, most=limit)
        ids, more = hits.ids, hits.more
    else:
        query = view.ids().where(*([Session.id < below[0]] if below else [])).order_by(Session.id.desc())
        ids = list(connection.scalars(query.limit(limit + 1)))
        ids, more = ids[:limit], len(ids) > limit
    matches: dict[int, list[search.Match]] = defaultdict(list)
    for match in search.matches(connection, text, ids):
        matches[match.session_id].append(match)
    return Hits(ids, dict(matches), order.encoded(_ORDER, [ids[-1]]) if more and ids else None)


def _with_id(connection: sa.Connection, text: str) -> list[int]:
    """The newest sessions whose id has `text` within it."""
    query = sa.select(Session.id).where(contains(Session.external_id, text.strip()), where.listed)
    return list(connection.scalars(query.order_by(Session.id.desc()).limit(MOST_COUNTED)))
