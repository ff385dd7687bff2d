"""What people make of groups: merged into one another, parts split off, each with author and reason, and undone again.

Nothing of it is written to parses. It is applied in the order in which it was made, whenever groups are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.parsing import failure_group
from webapp.store.db.short_text import short
from webapp.store.models import FailedResponse, FailureOverlay

FIELDS = ("path", "tokens", "model")
"""what a group can be split by"""


class BadOverlay(ValueError):
    """A merge or split that cannot be meant; the message says why."""


class NoSuchChange(LookupError):
    """No merge or split has that number."""


def changes(db: orm.Session, group: str | None = None) -> list[FailureOverlay]:
    """All merges and splits, those that were undone too, or those that concern a group; the oldest first."""
    query = sa.select(FailureOverlay).order_by(FailureOverlay.id)
    if group is not None:
        query = query.where(sa.or_(FailureOverlay.group_key == group, FailureOverlay.target == group))
    return list(db.scalars(query))


def in_force(db: orm.Session) -> tuple[FailureOverlay, ...]:
    return tuple(change for change in changes(db) if change.undone_at is None)


def merge(db: orm.Session, groups: Sequence[str], target: str, *, author: str, reason: str) -> list[int]:
    """Make these groups part of `target`; the changes' numbers. Raises `BadOverlay`. The caller commits."""
    _refuse_silent(author, reason)
    group_key_of = shown_as(in_force(db))
    numbers: list[int] = []
    for group in dict.fromkeys(groups):
        if group_key_of(group) == group_key_of(target):
            raise BadOverlay(f"{group!r} is part of {target!r} already")
        numbers.append(_put(db, kind="merge", group_key=group, target=target, author=author, reason=reason))
    if not numbers:
        raise BadOverlay("no group was given to be merged")
    return numbers


def split(db: orm.Session, group: str, field: str, value: str, *, author: str, reason: str) -> tuple[int, str]:
    """Make those of a group whose `field` is `value` a group of their own: the change's number and the new key.

    Raises `BadOverlay`. The caller commits.
    """
    _refuse_silent(author, reason)
    if field not in FIELDS:
        raise BadOverlay(f"a group is split by {', '.join(FIELDS)}, not by {field[:100]!r}")
    target = short(f"{group}|{field} {value.replace('|', ' ')}", 255)
    if any(change.target == target and change.kind == "split" for change in in_force(db)):
        raise BadOverlay(f"{target!r} was split off already")
    values = {"kind": "split", "group_key": group, "target": target, "field": field, "value": value}
    return _put(db, **values, author=author, reason=reason), target


def undo(db: orm.Session, number: int, *, author: str, reason: str) -> None:
    """Take a merge or split back; it stays in the history. Raises `NoSuchChange`, `BadOverlay`. The caller commits."""
    _refuse_silent(author, reason)
    change = db.get(FailureOverlay, number)
    if change is None:
        raise NoSuchChange(f"no merge or split has the number {number}")
    if change.undone_at is not None:
        raise BadOverlay(f"change {number} was undone already")
    change.undone_by, change.undone_reason, change.undone_at = author, reason, datetime.now(UTC)
    db.flush()


def shown_as(changes_in_force: Sequence[FailureOverlay]) -> Callable[[str], str]:
    """Which group each key of a merged group is shown as."""
    targets = {change.group_key: change.target for change in changes_in_force if change.kind == "merge"}

    def shown(key: str) -> str:
        passed = {key}
        while (target := targets.get(key)) is not None and target not in passed:
            passed.add(target)
            key = target
        return key

    return shown


def shown_key(changes_in_force: Sequence[FailureOverlay]) -> sa.ColumnElement[str]:
    """The group that people see a failed response in, as SQL."""
    key: sa.ColumnElement[str] = sa.type_coerce(FailedResponse.group_key, sa.String())
    for change in changes_in_force:
        part = key == change.group_key
        if change.kind == "split":
            part = sa.and_(part, getattr(FailedResponse, change.field or "") == change.value)
        key = sa.case((part, change.target), else_=key)
    return key


def aliases(changes_in_force: Sequence[FailureOverlay], key: str) -> list[str] | None:
    """The keys that are shown as one group; None where a part was split off something, so that no key says it."""
    if any(change.kind == "split" for change in changes_in_force):
        return None
    shown = shown_as(changes_in_force)
    keys = dict.fromkeys((key, *(change.group_key for change in changes_in_force)))
    return [one for one in keys if shown(one) == key]


def title(key: str, changes_in_force: Sequence[FailureOverlay] = ()) -> str:
    """A group's words: those of its key, of a part with what it was split off by."""
    for change in changes_in_force:
        if change.kind == "split" and change.target == key:
            words = {"path": "at", "tokens": "around", "model": "by"}[change.field or "path"]
            return f"{title(change.group_key, changes_in_force)}, {words} {change.value}"
    return failure_group.title(key)


def _put(db: orm.Session, **values: object) -> int:
    change = FailureOverlay(**values, made_at=datetime.now(UTC))
    db.add(change)
    db.flush()
    return change.id


def _refuse_silent(author: str, reason: str) -> None:
    if not author.strip():
        raise BadOverlay("an author is required")
    if not reason.strip():
        raise BadOverlay("a reason is needed: why")
