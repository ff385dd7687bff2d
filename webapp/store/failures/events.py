"""What people say of groups, with author and reason: states, assignments, and merges, by which a group is shown as part
of another. All of it stays, and of each the last is in force."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.refusals import BadInput
from webapp.store.db.ids import microseconds
from webapp.store.models import FailedResponse, FailureEvent

STATES = ("open", "resolved", "ignored")
UNDONE = "undone"
"""the state of the event that takes a merge back"""


class BadState(BadInput):
    """A statement that cannot be meant; the message says why."""


def history(db: orm.Session, group: str) -> list[FailureEvent]:
    """Everything that was said of a group, its merges and those into it too, the oldest first."""
    concerned = sa.or_(FailureEvent.group_key == group, FailureEvent.target == group)
    return list(db.scalars(sa.select(FailureEvent).where(concerned).order_by(FailureEvent.id)))


def in_force(db: orm.Session, action: str) -> dict[str, FailureEvent]:
    """By group, what was said last with this action."""
    last = sa.select(sa.func.max(FailureEvent.id)).where(FailureEvent.action == action).group_by(FailureEvent.group_key)
    return {event.group_key: event for event in db.scalars(sa.select(FailureEvent).where(FailureEvent.id.in_(last)))}


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


def merge(db: orm.Session, group: str, target: str, *, author: str, reason: str) -> None:
    """Make a group part of `target`. Raises `BadState`. The caller commits."""
    shown_key_of = shown_as(merges(db))
    if shown_key_of(group) == shown_key_of(target):
        raise BadState(f"{group!r} is part of {target!r} already")
    _put(db, group, _merge(target, None, author, reason))


def unmerge(db: orm.Session, group: str, *, author: str, reason: str) -> None:
    """Let a group stand alone again. Raises `BadState`. The caller commits."""
    if (target := merges(db).get(group)) is None:
        raise BadState(f"{group[:200]!r} is not part of another group")
    _put(db, group, _merge(target, UNDONE, author, reason))


def _merge(target: str, state: str | None, author: str, reason: str) -> FailureEvent:
    event = FailureEvent(action="merge", target=target, state=state, author=author, reason=reason)
    _refuse_silent(event)
    return event


Merges = Mapping[str, str]
"""by group that is part of another one, which"""


def merges(db: orm.Session) -> Merges:
    """Those in force."""
    events = in_force(db, "merge").items()
    return {group: event.target for group, event in events if event.target is not None and event.state != UNDONE}


def shown_as(merged: Merges) -> Callable[[str], str]:
    """Which group each key of a merged group is shown as: of two that were merged into each other at once, one."""

    def shown(key: str) -> str:
        passed: list[str] = []
        while key in merged and key not in passed:
            passed.append(key)
            key = merged[key]
        return min(passed[passed.index(key) :]) if key in passed else key

    return shown


def shown_key(merged: Merges) -> sa.ColumnElement[str]:
    """The group that people see a failed response in, as SQL."""
    key: sa.ColumnElement[str] = sa.type_coerce(FailedResponse.group_key, sa.String())
    shown_key_of = shown_as(merged)
    return sa.case({group: shown_key_of(group) for group in merged}, value=key, else_=key) if merged else key


def aliases(merged: Merges, key: str) -> list[str]:
    """The keys that are shown as one group."""
    shown_key_of = shown_as(merged)
    return [candidate for candidate in dict.fromkeys((key, *merged)) if shown_key_of(candidate) == key]


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
    _refuse_silent(event)
    if (event.profile is None) != (event.version is None):
        raise BadState("resolved in a profile needs the profile and its version")
    if event.profile is not None and state != "resolved":
        raise BadState("only a resolved group has a profile's version")
    if event.grows is not None and (state != "ignored" or not 1 < event.grows < 1e9):
        raise BadState("only an ignored group may grow, to more than once and less than a billion times its size")
    if event.until is not None and (state == "open" or (state == "resolved" and event.profile is not None)):
        raise BadState("a date is for a group that is resolved from then on, or ignored until then")


def _refuse_silent(event: FailureEvent) -> None:
    if not event.author.strip() or not event.reason.strip():
        raise BadState("an author and a reason are required")


def _put(db: orm.Session, group: str, event: FailureEvent) -> int:
    event.group_key, event.made_at = group, datetime.now(UTC)
    db.add(event)
    db.flush()
    return event.id
