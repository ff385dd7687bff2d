"""Merges: a group may be shown as part of another, with author and reason, until that is undone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.models import FailedResponse, FailureOverlay


class BadOverlay(ValueError):
    """A merge that cannot be meant; the message says why."""


class NoSuchChange(LookupError):
    """No merge has that number."""


def changes(db: orm.Session, group: str | None = None) -> list[FailureOverlay]:
    """All merges, those that were undone too, or those that concern a group; the oldest first."""
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
        numbers.append(_put(db, group_key=group, target=target, author=author, reason=reason))
    if not numbers:
        raise BadOverlay("no group was given to be merged")
    return numbers


def undo(db: orm.Session, number: int, *, author: str, reason: str) -> None:
    """Take a merge back; it stays in the history. Raises `NoSuchChange`, `BadOverlay`. The caller commits."""
    _refuse_silent(author, reason)
    change = db.get(FailureOverlay, number)
    if change is None:
        raise NoSuchChange(f"no merge has the number {number}")
    if change.undone_at is not None:
        raise BadOverlay(f"change {number} was undone already")
    change.undone_by, change.undone_reason, change.undone_at = author, reason, datetime.now(UTC)
    db.flush()


def shown_as(changes_in_force: Sequence[FailureOverlay]) -> Callable[[str], str]:
    """Which group each key of a merged group is shown as."""
    targets = {change.group_key: change.target for change in changes_in_force}

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
    name_of = shown_as(changes_in_force)
    targets = {change.group_key: name_of(change.group_key) for change in changes_in_force}
    return sa.case(targets, value=key, else_=key) if targets else key


def aliases(changes_in_force: Sequence[FailureOverlay], key: str) -> list[str]:
    """The keys that are shown as one group."""
    name_of = shown_as(changes_in_force)
    keys = dict.fromkeys((key, *(change.group_key for change in changes_in_force)))
    return [candidate for candidate in keys if name_of(candidate) == key]


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
