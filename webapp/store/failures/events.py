"""What people say of groups, with author and reason: states, assignments, and merges, by which a group is shown as part
of another. All of it stays, and of each the last is in force."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.refusals import BadInput
from webapp.store.db.ids import microseconds
from webapp.store.models import FailureEvent

STATES = ("open", "resolved", "ignored")
UNDONE = "undone"
"""the state of the event that takes a merge back"""
Merges = Mapping[str, str]
"""by group that is part of another one, which"""


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


def set_state(db: orm.Session, group: str, state: str, *, count: int, author: str, reason: str, **how: Any) -> None:
    """Say what is with a group of `count` responses; `how` are `profile` and `version`, `until`, or `grows`, as
    `FailureEvent` has them. Raises `BadState`. The caller commits."""
    event = FailureEvent(action="state", state=state, count=count, author=author, reason=reason, **how)
    _refuse(event, state)
    if state == "resolved" and event.profile is None and event.until is None:
        event.until = datetime.now(UTC)
    _put(db, group, event)


def assign(db: orm.Session, group: str, assignee: str | None, *, author: str, reason: str = "") -> None:
    """Give a group to somebody, None to nobody. Raises `BadState`. The caller commits."""
    name = (assignee or "").strip() or None
    _put(db, group, FailureEvent(action="assign", assignee=name, author=author, reason=reason))


def merge(db: orm.Session, group: str, target: str, *, author: str, reason: str) -> None:
    """Make a group part of `target`. Raises `BadState`. The caller commits."""
    merged = merges(db)
    if merged.get(group, group) == merged.get(target, target):
        raise BadState(f"{group!r} is part of {target!r} already")
    _put(db, group, FailureEvent(action="merge", target=target, author=author, reason=reason))


def unmerge(db: orm.Session, group: str, *, author: str, reason: str) -> None:
    """Let a group stand alone again. Raises `BadState`. The caller commits."""
    if (target := _targets(db).get(group)) is None:
        raise BadState(f"{group[:200]!r} is not part of another group")
    _put(db, group, FailureEvent(action="merge", target=target, state=UNDONE, author=author, reason=reason))


def merges(db: orm.Session) -> Merges:
    """By group that is part of another one, the group that people see it in."""
    return shown_in(_targets(db))


def _targets(db: orm.Session) -> Merges:
    events = in_force(db, "merge").items()
    return {group: event.target for group, event in events if event.target is not None and event.state != UNDONE}


def shown_in(targets: Merges) -> Merges:
    """The group at the end of each way: of two that were merged into each other at once, one."""
    shown: dict[str, str] = {}
    for group in targets:
        passed, key = [group], targets[group]
        while key in targets and key not in passed:
            passed.append(key)
            key = targets[key]
        shown[group] = min(passed[passed.index(key) :]) if key in passed else key
    return shown


def ignored(event: FailureEvent, count: int, now: datetime) -> str | None:
    """Why an ignored group is so no more, in words; None while it is."""
    if event.until is not None and now >= event.until:
        return f"it was ignored until {event.until:%Y-%m-%d %H:%M} UTC"
    if event.grows is not None and event.count is not None and count >= event.grows * max(1, event.count):
        return f"it has grown from {event.count:,} to {count:,} responses"
    return None


def regressed(event: FailureEvent, last_seen: int, versions: Iterable[tuple[str, str]]) -> str | None:
    """Why a resolved group is seen again, in words; None where it is not.

    `last_seen` as the index has times, `versions` the profiles and versions of the parses that failed.
    """
    if event.profile is not None and event.version is not None:
        failed = {version for profile, version in versions if profile == event.profile}
        late = [version for version in failed if order(version) >= order(event.version)]
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
    if (event.profile is None) != (event.version is None):
        raise BadState("resolved in a profile needs the profile and its version")
    if event.profile is not None and state != "resolved":
        raise BadState("only a resolved group has a profile's version")
    if event.grows is not None and (state != "ignored" or not 1 < event.grows < 1e9):
        raise BadState("only an ignored group may grow, to more than once and less than a billion times its size")
    if event.until is not None and (state == "open" or (state == "resolved" and event.profile is not None)):
        raise BadState("a date is for a group that is resolved from then on, or ignored until then")


def _put(db: orm.Session, group: str, event: FailureEvent) -> None:
    if not event.author.strip() or not (event.reason.strip() or event.action == "assign"):
        raise BadState("an author and a reason are required")
    event.group_key, event.made_at = group, datetime.now(UTC)
    db.add(event)
    db.flush()
