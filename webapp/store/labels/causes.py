"""Causes: a tree of why a response did not become JSON, to which people add, and in which they rename and merge."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store import saved
from webapp.store.labels import label_content
from webapp.store.labels.label_content import BadLabel
from webapp.store.models import FinalLabel, Label
from webapp.visible import is_seen

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
KIND = "cause"
Content = dict[str, Any]
"""of a cause that somebody added: `parent`, its group, and the cause that it was `merged_into`, each may be None"""
_HOPS = 50


class BadCause(BadLabel):
    """A cause cannot be added, renamed or merged as asked; the message says why."""


def names() -> tuple[str, ...]:
    """The causes that there are from the start."""
    return tuple(cause for causes in TREE.values() for cause in causes)


def tree(db: orm.Session) -> dict[str, list[dict[str, Any]]]:
    """Every cause by group, in order: how many labels name it, whether somebody added it, and what was merged into it;
    those that were merged away are named by that alone."""
    by_name = {cause.name: cause.content for cause in saved.every(db, KIND)}
    query = sa.select(Label.cause, sa.func.count().label("labels")).group_by(Label.cause)
    counts = {row.cause: row.labels for row in db.execute(query)}
    merged: dict[str, list[str]] = {}
    groups: dict[str, list[str]] = {group: list(causes) for group, causes in TREE.items()}
    for name, cause in by_name.items():
        if cause["merged_into"]:
            merged.setdefault(_follow(by_name.get, name), []).append(name)
        of_group = groups.setdefault(cause["parent"] or OWN, [])
        if name not in names():
            of_group.append(name)
    return {
        group: [
            {"name": name, "labels": counts.get(name, 0), "is_own": name not in names(), "merged": merged.get(name, ())}
            for name in causes
            if name not in by_name or not by_name[name]["merged_into"]
        ]
        for group, causes in groups.items()
        if causes
    }


def resolve(db: orm.Session, name: str | None, author: str) -> str | None:
    """The cause that `name` means today, followed through merges; one that is new is added, without a commit."""
    if name is None:
        return None
    name = _follow(partial(_find, db), _known(db, name))
    if name not in names() and _find(db, name) is None:
        _put(db, name, None, author)
    return name


def _known(db: orm.Session, name: str) -> str:
    """The known cause that `name` spells otherwise: `Extra closing` is extra-closing; else `name`."""
    if name in names() or _find(db, name) is not None:
        return name
    spelling = _spelling(name)
    own_names = (cause.name for cause in saved.every(db, KIND))
    return next((cause for cause in (*names(), *own_names) if _spelling(cause) == spelling), name)


def _spelling(name: str) -> str:
    return "-".join(name.casefold().replace("_", " ").replace("-", " ").split())


def add(db: orm.Session, name: str, parent: str | None, author: str) -> None:
    """Add a cause of one's own under the group `parent` and commit; raises `BadCause` where it is there already."""
    name = checked(name)
    if name in names() or _find(db, name) is not None:
        raise BadCause(f"the cause {name!r} is there already")
    _put(db, name, parent if parent in TREE else None, author)
    db.commit()


def merge(db: orm.Session, name: str, into: str, author: str) -> int:
    """Let `into` stand for `name`, in every label too, and commit; the number of labels that changed.

    To rename is to merge into a new name. Raises `BadCause`.
    """
    name, into = checked(name), checked(into)
    source = _find(db, name)
    if source is None and name not in names():
        raise BadCause(f"no cause is called {name!r}")
    group = next((group for group, causes in TREE.items() if name in causes), source["parent"] if source else None)
    if (target := resolve(db, into, author)) == name:
        db.rollback()
        raise BadCause(f"{into!r} was merged into {name!r}; undo that first")
    own = _find(db, target or into)
    if own is not None and own["parent"] is None:
        _put(db, target or into, group, author, own["merged_into"])
    _put(db, name, source["parent"] if source else group, author, target)
    changed = _rename(db, _labels_with(db, name), target or into, author)
    db.commit()
    return changed


def split(db: orm.Session, name: str, author: str) -> int:
    """Undo the merge of `name`, in the labels that it changed and that still say so; the number of those."""
    cause = _find(db, name)
    if cause is None or cause["merged_into"] is None:
        raise BadCause(f"{name[:100]!r} was not merged into another cause")
    target = cause["merged_into"]
    _put(db, name, cause["parent"], author)
    merged = [label for label in _labels_with(db, target) if label_content.cause_before(db, label) == name]
    changed = _rename(db, merged, name, author)
    db.commit()
    return changed


def checked(name: str) -> str:
    """A cause's name without white space round it; raises `BadCause`."""
    name = name.strip()
    if not name or len(name) > 128 or not is_seen(name):
        raise BadCause("a cause is a word or a few on one line, of at most 128 characters")
    return name


def _labels_with(db: orm.Session, cause: str | None) -> list[Label | FinalLabel]:
    """The labels of that cause, then the settled ones."""
    labels = db.scalars(sa.select(Label).where(Label.cause == cause))
    return [*labels, *db.scalars(sa.select(FinalLabel).where(FinalLabel.cause == cause))]


def _rename(db: orm.Session, labels: list[Label | FinalLabel], cause: str, author: str) -> int:
    """Give the labels another cause; how many of them are not settled ones."""
    batch = str(uuid.uuid4())
    for label in labels:
        was = label_content.content_of(label)
        label.cause = cause
        action = "renamed" if isinstance(label, Label) else "resettled"
        event = {**label_content.content_of(label), "was": was, "batch": batch, "by": author}
        label_content.record(db, label.turn_id, label.author, action, event)
    return sum(isinstance(label, Label) for label in labels)


def _put(db: orm.Session, name: str, parent: str | None, author: str, merged_into: str | None = None) -> None:
    saved.put(db, KIND, name, {"parent": parent, "merged_into": merged_into}, author)


def _find(db: orm.Session, name: str) -> Content | None:
    cause = saved.find(db, KIND, name)
    return None if cause is None else cause.content


def _follow(find: Callable[[str], Content | None], name: str) -> str:
    for _ in range(_HOPS):
        cause = find(name)
        if cause is None or cause["merged_into"] is None:
            break
        name = cause["merged_into"]
    return name
