"""Sessions as the list shows them: filtered, failed ones first, a page at a time."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.dialect import contains
from webapp.store.ids import shortened
from webapp.store.models import Session, SessionModel
from webapp.store.types import short

VERDICTS = ("clean", "extracted", "repaired", "failed", "none")
LABELS = ("labelled", "unlabelled")
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


class BadFilter(ValueError):
    """A filter has a value that it does not take; the message lists those that it takes."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What the list is narrowed to; all that are set must hold. `verdict` is one under the home profile.

    `label` is "labelled" or "unlabelled"; `q` is part of an id or a title.
    """

    failed: bool = False
    rescued: bool = False
    verdict: str | None = None
    model: str | None = None
    label: str | None = None
    format: str | None = None
    q: str | None = None


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


@dataclass(frozen=True, slots=True)
class Counts:
    """Sessions a facet would show, all others of the filters left in place: the whole store's, for now."""

    all: int
    failed: int
    rescued: int
    models: dict[str, int]


@dataclass(frozen=True, slots=True)
class Page:
    """`total` sessions match and `hidden` do not; `next` is the `after` of the next page, None on the last."""

    sessions: list[SessionLine]
    next: str | None
    total: int
    hidden: int
    counts: Counts


_columns = tuple(getattr(Session, name) for name in SessionLine.__dataclass_fields__)
_order = (Session.failed, Session.happened_at, Session.id)


def page(db: orm.Session, filters: Filters, *, after: str | None = None, limit: int = 50) -> Page:
    """The sessions behind `after`: failed ones first, then the newest. Raises `BadCursor` and `BadFilter`."""
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
        conditions.append(_verdict_counts[_known("verdict", filters.verdict, VERDICTS)] > 0)
    if filters.model:
        conditions.append(Session.id.in_(sa.select(SessionModel.session_id).where(SessionModel.model == filters.model)))
    if filters.label:
        labelled = _known("label", filters.label, LABELS) == "labelled"
        conditions.append(Session.label_count > 0 if labelled else Session.label_count == 0)
    if filters.format:
        conditions.append(Session.source_format == short(filters.format, 64))
    if filters.q:
        conditions.append(sa.or_(contains(Session.external_id, filters.q), contains(Session.title, filters.q)))
    return conditions


def _known(name: str, value: str, values: tuple[str, ...]) -> str:
    if value not in values:
        raise BadFilter(f"{name} takes {', '.join(values)}, not {value[:100]!r}")
    return value


def _counts(db: orm.Session) -> Counts:
    totals = sa.select(
        sa.func.count(),
        sa.func.count(sa.case((Session.failed.is_(True), 1))),
        sa.func.count(sa.case((Session.rescued_count > 0, 1))),
    ).select_from(Session)
    every, failed, rescued = db.execute(totals).one()
    count = sa.func.count()
    by_model = sa.select(SessionModel.model, count).group_by(SessionModel.model)
    models = db.execute(by_model.order_by(count.desc(), SessionModel.model).limit(MOST_MODELS))
    return Counts(every, failed, rescued, {row[0]: row[1] for row in models})


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
