"""States and assignments of groups: who set what and why stays, the last one is in force."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.ids import microseconds
from webapp.store.models import FailureEvent

STATES = ("open", "resolved", "ignored")


class BadState(ValueError):
    """A state that cannot be meant; the message says why."""


def history(db: orm.Session, group: str) -> list[FailureEvent]:
    """Everything that was said of a group, the oldest first."""
    return list(db.scalars(sa.select(FailureEvent).where(FailureEvent.group_key == group).order_by(FailureEvent.id)))


def in_force(db: orm.Session) -> tuple[dict[str, FailureEvent], dict[str, FailureEvent]]:
    """By group, the state that was said last, and the last assignment."""
    last = sa.select(sa.func.max(FailureEvent.id)).group_by(FailureEvent.group_key, FailureEvent.action)
    events = db.scalars(sa.select(FailureEvent).where(FailureEvent.id.in_(last))).all()
    states = {event.group_key: event for event in events if event.action == "state"}
    assigned = (event for event in events if event.action == "assign" and event.assignee is not None)
    return states, {event.group_key: event for event in assigned}


def set_state(
    db: orm.Session,
    group: str,
    state: str,
    *,
    count: int,
    author: str,
    reason: str,
    profile: str | None = None,
    version: str | None = None,
    until: datetime | None = None,
    grows: float | None = None,
) -> int:
    """Say what is with a group of `count` responses; the event's number. Raises `BadState`. The caller commits."""
    values = {"profile": profile, "version": version, "until": until, "grows": grows, "count": count}
    event = FailureEvent(action="state", state=state, **values, author=author, reason=reason)
    _refuse(event, state)
    if state == "resolved" and profile is None and until is None:
        event.until = datetime.now(UTC)
    return _put(db, group, event)


def assign(db: orm.Session, group: str, assignee: str | None, *, author: str, reason: str = "") -> int:
    """Give a group to somebody, None to nobody; the event's number. Raises `BadState`. The caller commits."""
    if not author.strip():
        raise BadState("an author is required")
    name = (assignee or "").strip() or None
    return _put(db, group, FailureEvent(action="assign", assignee=name, author=author, reason=reason))


def ignored(event: FailureEvent, count: int, now: datetime) -> str | None:
    """Why an ignored group is so no more, in words; None while it is."""
    if event.until is not None and now >= event.until:
        return f"it was ignored until {event.until:%Y-%m-%d %H:%M} UTC"
    if event.grows is not None and event.count is not None and count >= event.grows * max(1, event.count):
        return f"it has grown from {event.count:,} to {count:,} responses"
    return None


def regressed(event: FailureEvent, last_seen: int, versions: Mapping[str, list[str]]) -> str | None:
    """Why a resolved group is seen again, in words; None where it is not.

    `last_seen` as the index has times, `versions` the versions of the parses that failed, by profile.
    """
    if event.profile is not None and event.version is not None:
        late = [version for version in versions.get(event.profile, ()) if order(version) >= order(event.version)]
        return f"{event.profile} {max(late, key=order)} fails in this way" if late else None
    if event.until is not None and last_seen >= microseconds(event.until):
        return f"it was seen after {event.until:%Y-%m-%d %H:%M} UTC"
    return None


def order(version: str) -> list[tuple[int, str]]:
    """What sorts versions: 1.10 comes behind 1.9."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", version) if part]


def _refuse(event: FailureEvent, state: str) -> None:
    if state not in STATES:
        raise BadState(f"a group is {', '.join(STATES)}, not {state[:100]!r}")
    if not event.author.strip() or not event.reason.strip():
        raise BadState("an author and a reason are required")
    if (event.profile is None) != (event.version is None):
        raise BadState("resolved in a profile needs the profile and its version")
    if event.profile is not None and state != "resolved":
        raise BadState("only a resolved group has a profile's version")
    if event.grows is not None and (state != "ignored" or not 1 < event.grows < 1e9):
        raise BadState("only an ignored group may grow, to more than once and less than a billion times its size")
    if event.until is not None and (state == "open" or (state == "resolved" and event.profile is not None)):
        raise BadState("a date is for a group that is resolved from then on, or ignored until then")


def _put(db: orm.Session, group: str, event: FailureEvent) -> int:
    event.group_key, event.made_at = group, datetime.now(UTC)
    db.add(event)
    db.flush()
    return event.id
