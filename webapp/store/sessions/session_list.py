"""The list of sessions: a page of it with its counts, and views of it that somebody saved under a name."""

from __future__ import annotations

from dataclasses import dataclass, field

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.refusals import BadInput
from webapp.store import saved, search
from webapp.store.db.ids import short
from webapp.store.models import FacetValue, SavedItem, Session, SessionFacet
from webapp.store.sessions import facets, sessions, where
from webapp.store.sessions.facets import Counts, Facet, ProfileCoverage
from webapp.store.sessions.filters import Filters
from webapp.store.write.facets import LONGEST
from webapp.visible import is_seen


@dataclass(frozen=True, slots=True)
class Page:
    """`counts` says how many sessions match, and `next` is the `after` of the next page, None on the last.

    `facets` are those of `FACETS` that have values, in that order; `cut` those that were not counted in time, and with
    `counts` None nothing was. After a search `matches` has up to three places for each session, by its key. With
    `open_ended` the text stands in more sessions than were counted: counts and facets are of the newest ones.
    `coverage` says how far the profile looked under was run over what the other filters leave, None where none is.
    """

    sessions: list[Session]
    next: str | None
    counts: Counts | None
    facets: dict[str, Facet] = field(default_factory=dict)
    matches: dict[str, list[search.Match]] = field(default_factory=dict)
    open_ended: bool = False
    cut: tuple[str, ...] = ()
    coverage: ProfileCoverage | None = None

    @property
    def total(self) -> int | None:
        """How many sessions match; None where they were not counted in time."""
        return None if self.counts is None else self.counts.total

    @property
    def hidden(self) -> int | None:
        """How many do not match."""
        return None if self.counts is None else 0 if self.open_ended else self.counts.of - self.counts.total


def page(db: orm.Session, filters: Filters, *, after: str | None = None, limit: int = 50) -> Page:
    """The sessions behind `after` in the order that the filters ask for. Raises `BadCursor`."""
    in_view = sessions.view(db, filters, limit)
    found = sessions.hits(db, in_view, after, limit)
    lines = _lines(db, found.ids)
    counts, of_facets, cut = facets.counted(db, in_view)
    matches = {line.key: found.matches[number] for number, line in lines.items() if number in found.matches}
    covered = facets.coverage_under(db, in_view)
    return Page(list(lines.values()), found.next, counts, of_facets, matches, in_view.open_ended, cut, covered)


def _lines(db: orm.Session, ids: list[int]) -> dict[int, Session]:
    """The sessions with these ids, in their order; one that was deleted a moment ago is left out."""
    lines = {session.id: session for session in db.scalars(_listed, {"ids": ids})} if ids else {}
    for session in lines.values():
        session.findings = {}
    for number, rule, count in facets.of_sessions(db, lines, "finding"):
        lines[number].findings[rule] = count
    return {number: lines[number] for number in ids if number in lines}


_listed = (
    sa.select(Session)
    .options(orm.defer(Session.extra), orm.defer(Session.tried))
    .where(Session.id.in_(sa.bindparam("ids", expanding=True)), Session.deleted_at.is_(None))
)


_VIEW = "view"
LONGEST_NAME = 128
LONGEST_QUERY = 4000
MOST_VIEWS = 200


class BadView(BadInput):
    """A view cannot be saved as given; the message says what is taken."""


def save_view(db: orm.Session, name: str, query: str, *, author: str) -> SavedItem:
    """Keep `query` under `name`, in place of what had that name, and commit. Raises `BadView`."""
    name = name.strip()
    if not name or len(name) > LONGEST_NAME or not is_seen(name):
        raise BadView(f"a view's name is one line of 1 to {LONGEST_NAME} characters")
    if len(query) > LONGEST_QUERY:
        raise BadView(f"a view's query has at most {LONGEST_QUERY} characters; this one has {len(query)}")
    if sum(view.name != name for view in views(db)) >= MOST_VIEWS:
        raise BadView(f"at most {MOST_VIEWS} views are kept; remove one first")
    saved.put(db, _VIEW, name, {"query": query.lstrip("?")}, author[:200])
    db.commit()
    return next(view for view in views(db) if view.name == name)


def views(db: orm.Session, text: str = "") -> list[SavedItem]:
    """Those that have the text in their names, by name."""
    named = (view for view in saved.every(db, _VIEW) if text.lower() in view.name.lower())
    return sorted(named, key=lambda view: (view.name.casefold(), view.name))


def remove_view(db: orm.Session, view_id: int) -> SavedItem | None:
    """Take a view away and commit; what it was, None where there is none."""
    removed = saved.remove(db, view_id, _VIEW)
    db.commit()
    return removed


_VALUES_OF = ("model", "tool", "host", "service", "agent")
"""filters of the list whose values are found"""


def facet_values(db: orm.Session, text: str, most: int) -> list[tuple[str, str]]:
    """Filter and value, of those that some session has which is no example beside others."""
    is_listed = sa.exists().where(SessionFacet.value_id == FacetValue.id, SessionFacet.session_id.not_in(where.hidden))
    query = sa.select(FacetValue.name, FacetValue.value)
    has_text = sa.func.lower(FacetValue.value).contains(short(text.lower(), LONGEST), autoescape=True)
    query = query.where(FacetValue.name.in_(_VALUES_OF), has_text, is_listed)
    return [(row.name, row.value) for row in db.execute(query.order_by(FacetValue.value).limit(most))]
