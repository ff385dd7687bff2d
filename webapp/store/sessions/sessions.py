"""Sessions as filters and words find them, in order and a page at a time; by id or key; and where two of them part."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.parsing.words import counted
from webapp.refusals import NotThere
from webapp.store import search
from webapp.store.db.dialect import contains
from webapp.store.db.ids import shortened
from webapp.store.models import Session, Turn
from webapp.store.sessions import where
from webapp.store.sessions.filters import KEYS, Filters, behind, cursor, cursor_place, order_by, place
from webapp.store.sessions.filters import BadCursor as BadCursor
from webapp.store.sessions.where import View

MOST_COUNTED = 100
"""Sessions that are counted exactly; of a word that more have it is said that there are more."""


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
    ids, more = search.sessions(connection, text, [where.listed], most=most)
    if more and ids and bare.is_narrowed():
        ids, more = search.sessions(connection, text, bare.where(), most=most)
    if not ids and not more:
        ids = [session.id for session in with_id(db, text.strip(), MOST_COUNTED)]
    return View(filters, tuple(ids), more)


def with_id(db: orm.Session, text: str, most: int) -> list[Session]:
    """The newest sessions whose id has `text` within it."""
    query = sa.select(Session).where(contains(Session.external_id, text), where.listed)
    return list(db.scalars(query.order_by(Session.id.desc()).limit(most)))


_not_deleted = Session.deleted_at.is_(None)
_FOUND_AT_ONCE = 500


class NoSuchSession(NotThere):
    """No session has that id or key."""


def view(db: orm.Session, filters: Filters, most: int = 0) -> View:
    """What the filters leave, search included: of a text that very many sessions have, the newest of them."""
    return _search_view(db, filters, most) if filters.searches else View(filters)


def in_order(
    db: orm.Session,
    in_view: View,
    sort: str,
    after: Sequence[Any] | None,
    limit: int,
    *more: Any,
    where: Sequence[sa.ColumnElement[bool]] = (),
    forward: bool = True,
) -> Sequence[Any]:
    """The next sessions in view behind a place in the order, or before it: rows of `id`, the keys and `more`."""
    query = sa.select(*dict.fromkeys((Session.id, *KEYS[sort], *more))).where(*in_view.where(), *where)
    if after is not None:
        query = query.where(behind(sort, after, forward=forward))
    return db.execute(query.order_by(*order_by(sort, forward=forward)).limit(limit)).all()


def ids_in_order(db: orm.Session, filters: Filters) -> Iterator[int]:
    """The ids of all sessions that `session_list` would show page by page, as they are now. Ends the transaction."""
    after: str | None = None
    while True:
        found = hits(db, view(db, filters, _FOUND_AT_ONCE), after, _FOUND_AT_ONCE)
        db.rollback()
        yield from found.ids
        if (after := found.next) is None:
            return


def hits(db: orm.Session, in_view: View, after: str | None, limit: int) -> Hits:
    """The sessions of one page, without what stands around them: after a search the newest first, each with its first
    matches. Raises `BadCursor`."""
    sort, text = in_view.order, in_view.filters.q or ""
    last = cursor_place(sort, after)
    if in_view.open_ended:
        bare = View(replace(in_view.filters, q=None)).where()
        ids, more = list(in_view.matching or ())[:limit], True
        if last is not None:
            ids, more = search.sessions(db.connection(), text, bare, below=last[0], most=limit)
        following = cursor(sort, [ids[-1]]) if more and ids else None
    else:
        rows = in_order(db, in_view, sort, last, limit + 1)
        ids = [row.id for row in rows[:limit]]
        following = cursor(sort, place(sort, rows[limit - 1])) if len(rows) > limit else None
    matches: dict[int, list[search.Match]] = defaultdict(list)
    for match in search.matches(db.connection(), text, ids) if in_view.filters.searches else ():
        matches[match.session_id].append(match)
    return Hits(ids, matches, following)


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


MOST_SELECTED = 1000
"""sessions that one selection takes"""
_SWITCHES = {"failed": "failed responses", "rescued": "failed responses that Fencepost can read"}


@dataclass(frozen=True, slots=True)
class Parting:
    """Where two sessions first differ, after `same` turns alike: the position in each, None where it has ended."""

    same: int
    first: int | None
    second: int | None


def words_of(selection: Mapping[str, Any]) -> str:
    """What a task is about, by its `keys` or `filters`: `sessions with failed responses, model m`."""
    unknown = " whose parser was unknown" if selection.get("unknown_only") else ""
    if "keys" in selection:
        return f"{counted(len(selection['keys']), 'selected session')}{unknown}"
    parts = [_SWITCHES.get(name, f"{name} {value}") for name, value in selection.get("filters", {}).items()]
    return f"sessions with {', '.join(parts)}{unknown}" if parts else f"all sessions{unknown}"


def selected(db: orm.Session, keys: Iterable[str]) -> list[Session]:
    """The sessions with these keys, in the order given, each once; raises `NoSuchSession` where none is left."""
    in_order = list(dict.fromkeys(keys))[:MOST_SELECTED]
    query = sa.select(Session).where(Session.key.in_(in_order), _not_deleted)
    by_key = {session.key: session for session in db.scalars(query)}
    if not by_key:
        raise NoSuchSession("no session is selected, or those that were are gone")
    return [by_key[key] for key in in_order if key in by_key]


def filtered(db: orm.Session, filters: Filters) -> list[Session]:
    """The sessions under the list's filters, the first `MOST_SELECTED` in the list's order."""
    ids = hits(db, view(db, filters, MOST_SELECTED), None, MOST_SELECTED).ids
    by_id = {session.id: session for session in db.scalars(sa.select(Session).where(Session.id.in_(ids)))}
    return [by_id[number] for number in ids if number in by_id]


def deleted_at(db: orm.Session, keys: list[str]) -> datetime | None:
    """When these sessions were deleted: the name of the batch that an undo brings back."""
    return db.scalar(sa.select(sa.func.max(Session.deleted_at)).where(Session.key.in_(keys)))


def of_batch(db: orm.Session, moment: datetime) -> list[str]:
    """The keys of what was deleted at that very moment."""
    return list(db.scalars(sa.select(Session.key).where(Session.deleted_at == moment)))


def parting(db: orm.Session, first: Session, second: Session) -> Parting:
    """Where two sessions first differ, by kind and raw text of their turns in order."""
    here, there = orm.aliased(Turn), orm.aliased(Turn)
    beside = (there.session_id == second.id, there.position == here.position, there.duplicate_of.is_(None))
    differs = sa.or_(there.id.is_(None), there.kind != here.kind, there.raw_sha256.is_distinct_from(here.raw_sha256))
    query = sa.select(here.position).outerjoin(there, sa.and_(*beside)).order_by(here.position).limit(1)
    found = db.scalar(query.where(here.session_id == first.id, here.duplicate_of.is_(None), differs))
    at = first.turn_count if found is None else found
    return Parting(at, at if at < first.turn_count else None, at if at < second.turn_count else None)
