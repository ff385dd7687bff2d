"""Causes: a tree of why a response did not become JSON, to which people add, and in which they rename and merge."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.labelling import history
from webapp.store.models import Cause, FinalLabel, Label

TREE = {
    "braces": ("extra-closing", "missing-closing", "double-braces", "string-with-braces", "nested-braces"),
    "quotes": ("inner-quotes", "unbalanced-quotes", "single-quotes", "smart-quotes", "unquoted-keys"),
    "commas": ("trailing-comma", "missing-comma"),
    "characters": ("control-chars", "bom-zero-width", "lone-surrogates", "escaped-json"),
    "values of other languages": ("python-literals", "nan-infinity", "hex-numbers", "comments", "ellipsis"),
    "fences": ("unlabelled-fence", "missing-closing-fence", "multiple-fences", "fence-in-string"),
    "text around": ("text-before-fence", "text-after-json", "think-blocks", "xml-tool-tags", "markdown-lists"),
    "several roots": ("concatenated", "array-root", "duplicate-keys", "wrong-object"),
    "cut off": ("truncated",),
    "other than expected": ("missing-keys", "combined"),
    "no JSON meant": ("python-code-fp", "js-template-literals", "f-strings", "base64-blobs"),
}
"""The kinds that the reports and the extraction cases name, by what is wrong."""
OWN = "your own"
_HOPS = 50


class BadCause(ValueError):
    """A cause cannot be added, renamed or merged as asked; the message says why."""


@dataclass(frozen=True, slots=True)
class CauseLine:
    """One cause: how many labels name it, whether somebody added it, and what was merged into it."""

    name: str
    labels: int
    own: bool
    merged: tuple[str, ...]


def names() -> tuple[str, ...]:
    """The causes that there are from the start."""
    return tuple(cause for causes in TREE.values() for cause in causes)


def tree(db: orm.Session) -> dict[str, list[CauseLine]]:
    """Every cause by group, in order; those that were merged away are named by the one that took them in."""
    stored = {cause.name: cause for cause in db.scalars(sa.select(Cause).order_by(Cause.name))}
    counts = _counts(db)
    merged: dict[str, list[str]] = {}
    for name, cause in stored.items():
        if cause.merged_into:
            merged.setdefault(_follow(stored, name), []).append(name)
    groups: dict[str, list[str]] = {group: list(causes) for group, causes in TREE.items()}
    for name, cause in stored.items():
        groups.setdefault(cause.parent or OWN, [])
        if name not in names():
            groups[cause.parent or OWN].append(name)
    gone = {name for name, cause in stored.items() if cause.merged_into}
    return {
        group: [
            CauseLine(name, counts.get(name, 0), name in stored, tuple(merged.get(name, ())))
            for name in causes
            if name not in gone
        ]
        for group, causes in groups.items()
        if causes
    }


def resolve(db: orm.Session, name: str | None, author: str) -> str | None:
    """The cause that `name` means today, followed through merges; one that is new is added, without a commit."""
    if name is None:
        return None
    for _ in range(_HOPS):
        cause = db.scalar(sa.select(Cause).where(Cause.name == name))
        if cause is None or cause.merged_into is None:
            break
        name = cause.merged_into
    if cause is None and name not in names():
        _add(db, name, None, author)
    return name


def add(db: orm.Session, name: str, parent: str | None, author: str) -> None:
    """Add a cause of one's own under the group `parent` and commit; raises `BadCause` where it is there already."""
    name = checked(name)
    if name in names() or db.scalar(sa.select(Cause.id).where(Cause.name == name)) is not None:
        raise BadCause(f"the cause {name!r} is there already")
    _add(db, name, parent if parent in TREE else None, author)
    db.commit()


def merge(db: orm.Session, name: str, into: str, author: str) -> int:
    """Let `into` stand for `name`, in every label too, and commit; the number of labels that changed.

    To rename is to merge into a new name. Raises `BadCause`.
    """
    name, into = checked(name), checked(into)
    source = db.scalar(sa.select(Cause).where(Cause.name == name))
    if source is None and name not in names():
        raise BadCause(f"no cause is called {name!r}")
    group = next((group for group, causes in TREE.items() if name in causes), source.parent if source else None)
    if resolve(db, into, author) == name:
        db.rollback()
        raise BadCause(f"{into!r} was merged into {name!r}; undo that first")
    target = resolve(db, into, author)
    db.execute(sa.update(Cause).where(Cause.name == target, Cause.parent.is_(None)).values(parent=group))
    source = source or _add(db, name, group, author)
    source.merged_into = target
    changed = _rename(db, name, target or into, author)
    db.commit()
    return changed


def split(db: orm.Session, name: str, author: str) -> int:
    """Undo the merge of `name`, in the labels that it changed and that still say so; the number of those."""
    cause = db.scalar(sa.select(Cause).where(Cause.name == name, Cause.merged_into.is_not(None)))
    if cause is None:
        raise BadCause(f"{name[:100]!r} was not merged into another cause")
    target, cause.merged_into = cause.merged_into, None
    changed = 0
    for label in db.scalars(sa.select(Label).where(Label.cause == target)).all():
        if target and history.cause_before(db, label, target) == name:
            _change(db, label, name, author, str(uuid.uuid4()))
            changed += 1
    for settled in db.scalars(sa.select(FinalLabel).where(FinalLabel.cause == target)).all():
        if target and history.settled_cause_before(db, settled.turn_id, target) == name:
            _change_settled(db, settled, name, author)
    db.commit()
    return changed


def checked(name: str) -> str:
    """A cause's name without white space round it; raises `BadCause`."""
    name = name.strip()
    if not name or len(name) > 128 or not name.isprintable():
        raise BadCause("a cause is a word or a few on one line, of at most 128 characters")
    return name


def _rename(db: orm.Session, name: str, target: str, author: str) -> int:
    batch = str(uuid.uuid4())
    labels = db.scalars(sa.select(Label).where(Label.cause == name)).all()
    for label in labels:
        _change(db, label, target, author, batch)
    for settled in db.scalars(sa.select(FinalLabel).where(FinalLabel.cause == name)).all():
        _change_settled(db, settled, target, author)
    return len(labels)


def _change(db: orm.Session, label: Label, cause: str, author: str, batch: str) -> None:
    was = history.said(label)
    label.cause = cause
    now = {**history.said(label), "was": was, "batch": batch, "by": author}
    history.record(db, label.turn_id, label.author, "renamed", now)


def _change_settled(db: orm.Session, settled: FinalLabel, cause: str, author: str) -> None:
    was = history.settlement(settled)
    settled.cause = cause
    now = {**history.settlement(settled), "was": was, "by": author}
    history.record(db, settled.turn_id, settled.author, "resettled", now)


def _add(db: orm.Session, name: str, parent: str | None, author: str) -> Cause:
    cause = Cause(name=name, parent=parent, merged_into=None, author=author, made_at=datetime.now(UTC))
    db.add(cause)
    db.flush()
    return cause


def _follow(stored: dict[str, Cause], name: str) -> str:
    for _ in range(_HOPS):
        cause = stored.get(name)
        if cause is None or cause.merged_into is None:
            break
        name = cause.merged_into
    return name


def _counts(db: orm.Session) -> dict[str, int]:
    query = sa.select(Label.cause, sa.func.count()).where(Label.cause.is_not(None)).group_by(Label.cause)
    return {cause: count for cause, count in db.execute(query) if cause is not None}
