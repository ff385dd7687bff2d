"""The list of sessions: a page of them with what they hold, how many there are and what their facets hold."""

from __future__ import annotations

from dataclasses import dataclass, field

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store import search
from webapp.store.models import Session
from webapp.store.sessions import facets, sessions
from webapp.store.sessions.facets import Counts, Facet
from webapp.store.sessions.filters import Filters


@dataclass(frozen=True, slots=True)
class Page:
    """`counts` says how many sessions match, and `next` is the `after` of the next page, None on the last.

    `facets` are those of `FACETS` that have values, in that order; `cut` those that were not counted in time, and with
    `counts` None nothing was. After a search `matches` has up to three places for each session, by its key. With
    `open_ended` the text stands in more sessions than were counted: counts and facets are of the newest ones.
    """

    sessions: list[Session]
    next: str | None
    counts: Counts | None
    facets: dict[str, Facet] = field(default_factory=dict)
    matches: dict[str, list[search.Match]] = field(default_factory=dict)
    open_ended: bool = False
    cut: tuple[str, ...] = ()

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
    found = sessions.hits_in(db, in_view, after, limit)
    lines = _lines(db, found.ids)
    counts = facets.counted(db, in_view)
    return Page(
        list(lines.values()),
        found.next,
        counts.counts,
        counts.facets,
        {line.key: found.matches[number] for number, line in lines.items() if number in found.matches},
        in_view.open_ended,
        counts.cut,
    )


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
