"""Sessions as filters and words find them, in order and a page at a time; and one of them by its id."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.refusals import NotThere
from webapp.store import search
from webapp.store.db.dialect import contains
from webapp.store.db.ids import shortened
from webapp.store.models import Session
from webapp.store.sessions import where
from webapp.store.sessions.filters import KEYS, Filters, behind, cursor, cursor_position, encoded_cursor, order_by
from webapp.store.sessions.filters import BadCursor as BadCursor
from webapp.store.sessions.where import View

MOST_COUNTED = 100
"""Sessions that are counted exactly; of a word that more have it is said that there are more."""
_SEARCH_ORDER = "match"


@dataclass(frozen=True, slots=True)
class Hits:
    """The sessions of one page in order, up to three matches of each, and the next cursor."""

    ids: list[int]
    matches: dict[int, list[search.Match]]
    next: str | None


def _search_view(db: orm.Session, filters: Filters, most: int = 0) -> View:
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


def _search_page(db: orm.Session, view: View, after: str | None, limit: int) -> Hits:
    """The matches behind `after` in view, the newest session first. Raises `BadCursor`."""
    below = cursor_position(_SEARCH_ORDER, after)
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
    return Hits(ids, dict(matches), encoded_cursor(_SEARCH_ORDER, [ids[-1]]) if more and ids else None)


def _with_id(connection: sa.Connection, text: str) -> list[int]:
    """The newest sessions whose id has `text` within it."""
    query = sa.select(Session.id).where(contains(Session.external_id, text.strip()), where.listed)
    return list(connection.scalars(query.order_by(Session.id.desc()).limit(MOST_COUNTED)))


_not_deleted = Session.deleted_at.is_(None)
_FOUND_AT_ONCE = 500


class NoSuchSession(NotThere):
    """No session has that id or key."""


def view(db: orm.Session, filters: Filters, most: int = 0) -> View:
    """What the filters leave, search included: of a text that very many sessions have, the newest of them."""
    return _search_view(db, filters, most) if filters.searches else View(filters)


def in_order(
    db: orm.Session, in_view: View, sort: str, after: list[int] | None, limit: int, *more: Any, forward: bool = True
) -> Sequence[Any]:
    """The next sessions in view behind these values of the order's keys, or before them: rows of `id`, the keys and
    `more`."""
    query = sa.select(*dict.fromkeys((Session.id, *KEYS[sort], *more))).where(*in_view.where())
    if after is not None:
        query = query.where(behind(sort, after, forward=forward))
    return db.execute(query.order_by(*order_by(sort, forward=forward)).limit(limit)).all()


def ids_in_order(db: orm.Session, filters: Filters) -> Iterator[int]:
    """The ids of all sessions that `session_list` would show page by page, as they are now. Ends the transaction."""
    after: str | None = None
    while True:
        found = hits(db, filters, after, _FOUND_AT_ONCE)
        db.rollback()
        yield from found.ids
        if (after := found.next) is None:
            return


def hits(db: orm.Session, filters: Filters, after: str | None, limit: int) -> Hits:
    """The sessions of one page, without what stands around them. Raises `BadCursor`."""
    return hits_in(db, view(db, filters, limit), after, limit)


def hits_in(db: orm.Session, in_view: View, after: str | None, limit: int) -> Hits:
    """The same of a view that is known."""
    if in_view.filters.searches:
        return _search_page(db, in_view, after, limit)
    sort = in_view.filters.sort
    rows = in_order(db, in_view, sort, cursor_position(sort, after), limit + 1)
    following = cursor(sort, rows[limit - 1]) if len(rows) > limit else None
    return Hits([row.id for row in rows[:limit]], {}, following)


def find(db: orm.Session, ident: str) -> Session:
    """The latest revision of the session with that id, else the session with that key; raises `NoSuchSession`."""
    session = db.scalar(_by_id, {"ident": shortened(ident)})
    if session is None and ident.isascii() and ident.isalnum() and len(ident) <= 16:
        session = db.scalar(_by_key, {"ident": ident})
    if session is None:
        raise NoSuchSession(f"no session has the id {ident[:200]!r}")
    return session


_by_id = (
    sa.select(Session)
    .where(Session.external_id == sa.bindparam("ident"), _not_deleted)
    .order_by(Session.revision.desc())
    .limit(1)
)
_by_key = sa.select(Session).where(Session.key == sa.bindparam("ident"), _not_deleted)


def revisions(db: orm.Session, external_id: str) -> list[Session]:
    """Every revision of that id, the latest first."""
    query = sa.select(Session).where(Session.external_id == external_id, _not_deleted).order_by(Session.revision.desc())
    return list(db.scalars(query))
