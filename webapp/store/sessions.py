"""Sessions as the list shows them: filtered, failed ones first, a page at a time."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.dialect import contains
from webapp.store.filtering import Filters
from webapp.store.ids import shortened
from webapp.store.models import Session, SessionModel
from webapp.store.types import short

MOST_MODELS = 50

_verdict_counts = {
    "clean": Session.clean_count,
    "extracted": Session.extracted_count,
    "repaired": Session.repaired_count,
    "failed": Session.unparsed_count,
    "none": Session.none_count,
}


class NoSuchSession(LookupError):
    """No session has that id or key."""


class BadCursor(ValueError):
    """`after` is not what a page gave as `next`."""


@dataclass(frozen=True, slots=True)
class SessionLine:
    """One row of the list. `strip` has one letter a response: c e r n for the home verdict, f failed, s rescued."""

    key: str
    external_id: str
    title: str | None
    revision: int
    newest: bool
    models: list[str]
    started_at: datetime | None
    turn_count: int
    response_count: int
    failed_count: int
    rescued_count: int
    strip: str
    source_format: str
    home_profile: str
    label_count: int
    ended_at: datetime | None
    raw_bytes: int
    facets: dict[str, Any] | None = field(repr=False)

    @property
    def findings(self) -> dict[str, int]:
        """How many findings of each rule, the rule with most first."""
        found: dict[str, int] = (self.facets or {}).get("finding", {})
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    @property
    def errors(self) -> dict[str, int]:
        """How many failed responses ended with each kind of error, the most frequent first."""
        found: dict[str, int] = (self.facets or {}).get("errors", {})
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


@dataclass(frozen=True, slots=True)
class Facet:
    """The values of one facet among the sessions that all other filters leave in view.

    `name` is the filter's, and a value the filter's value. At most 50 values, most sessions first; `more` counts the
    others. `chosen` is the value that the filters ask for, None where they ask for none; it is always among `values`.
    """

    name: str
    values: list[tuple[str, int]]
    more: int
    chosen: str | None


@dataclass(frozen=True, slots=True)
class Match:
    """One place where a search hit: in a turn (`position`), or in the session's own id or title (`position` None).

    `where` is raw, error, id, title or note. `fragments` are pieces of the text in order, True where one was hit.
    """

    position: int | None
    where: str
    fragments: tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class Counts:
    """How many sessions each of these filters would show, all other filters left in place.

    `all` is without `failed` and `rescued`.
    """

    all: int
    failed: int
    rescued: int
    labelled: int
    unlabelled: int


@dataclass(frozen=True, slots=True)
class Page:
    """`total` sessions match and `hidden` do not; `next` is the `after` of the next page, None on the last.

    `facets` are those of `FACETS` that have values, in that order. After a search `matches` has up to three places
    for each session, by its key; `total` is then of the sessions looked at, and `open_ended` says there may be more.
    """

    sessions: list[SessionLine]
    next: str | None
    total: int
    hidden: int
    counts: Counts
    facets: dict[str, Facet] = field(default_factory=dict)
    matches: dict[str, list[Match]] = field(default_factory=dict)
    open_ended: bool = False


_columns = tuple(getattr(Session, name) for name in SessionLine.__dataclass_fields__)
_order = (Session.failed, Session.happened_at, Session.id)


def page(db: orm.Session, filters: Filters, *, after: str | None = None, limit: int = 50) -> Page:
    """The sessions behind `after`: failed ones first, then the newest. Raises `BadCursor`."""
    conditions = _conditions(filters)
    query = sa.select(*_order, *_columns).where(*conditions)
    if after is not None:
        failed, happened_at, session_id = _decode(after)
        behind = (
            sa.literal(failed, sa.Boolean()),
            sa.literal(happened_at, Session.happened_at.type),
            sa.literal(session_id, sa.BigInteger()),
        )
        query = query.where(sa.tuple_(*_order) < sa.tuple_(*behind))
    found = db.execute(query.order_by(*(column.desc() for column in _order)).limit(limit + 1)).all()
    lines = [SessionLine(*row[len(_order) :]) for row in found[:limit]]
    following = _encode(*found[limit - 1][: len(_order)]) if len(found) > limit else None
    counts = _counts(db)
    total = db.scalar(sa.select(sa.func.count()).select_from(Session).where(*conditions)) if conditions else counts.all
    return Page(lines, following, total or 0, counts.all - (total or 0), counts)


def find(db: orm.Session, ident: str) -> Session:
    """The latest revision of the session with that id, else the session with that key; raises `NoSuchSession`."""
    by_id = sa.select(Session).where(Session.external_id == shortened(ident)).order_by(Session.revision.desc()).limit(1)
    found = db.scalar(by_id)
    if found is None and ident.isascii() and ident.isalnum() and len(ident) <= 16:
        found = db.scalar(sa.select(Session).where(Session.key == ident))
    if found is None:
        raise NoSuchSession(f"no session has the id {ident[:200]!r}")
    return found


def revisions(db: orm.Session, external_id: str) -> list[Session]:
    """Every revision of that id, the latest first."""
    query = sa.select(Session).where(Session.external_id == external_id).order_by(Session.revision.desc())
    return list(db.scalars(query))


def _conditions(filters: Filters) -> list[sa.ColumnElement[bool]]:
    conditions: list[sa.ColumnElement[bool]] = []
    if filters.failed:
        conditions.append(Session.failed.is_(True))
    if filters.rescued:
        conditions.append(Session.rescued_count > 0)
    if filters.verdict:
        conditions.append(_verdict_counts[filters.verdict] > 0)
    if filters.model:
        conditions.append(Session.id.in_(sa.select(SessionModel.session_id).where(SessionModel.model == filters.model)))
    if filters.label:
        labelled = filters.label == "labelled"
        conditions.append(Session.label_count > 0 if labelled else Session.label_count == 0)
    if filters.format:
        conditions.append(Session.source_format == short(filters.format, 64))
    if filters.q:
        conditions.append(sa.or_(contains(Session.external_id, filters.q), contains(Session.title, filters.q)))
    return conditions


def _counts(db: orm.Session) -> Counts:
    totals = sa.select(
        sa.func.count(),
        sa.func.count(sa.case((Session.failed.is_(True), 1))),
        sa.func.count(sa.case((Session.rescued_count > 0, 1))),
    ).select_from(Session)
    every, failed, rescued = db.execute(totals).one()
    return Counts(every, failed, rescued, 0, 0)


def _encode(failed: bool, happened_at: datetime, session_id: int) -> str:
    text = json.dumps([failed, happened_at.isoformat(), session_id])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode(after: str) -> tuple[bool, datetime, int]:
    try:
        data = base64.urlsafe_b64decode(after.encode("ascii") + b"=" * (-len(after) % 4))
        failed, happened_at, session_id = json.loads(data)
        cursor = bool(failed), datetime.fromisoformat(happened_at), int(session_id)
    except (ValueError, TypeError, RecursionError, binascii.Error):
        raise BadCursor("after is not what an earlier page gave as next") from None
    if cursor[1].tzinfo is None or not -(2**63) <= cursor[2] < 2**63:
        raise BadCursor("after is not what an earlier page gave as next")
    return cursor
