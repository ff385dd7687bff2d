"""Reviewing: somebody other than its author accepts a label, or returns it with a note; who changes it, begins anew."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.labels import history
from webapp.store.labels.label_content import BadLabel, checked_author, checked_note
from webapp.store.models import Label, Session, Turn

STATES = (history.NOT_REVIEWED, *history.REVIEWING)
NONE: dict[str, Any] = {"review": None, "reviewer": None, "review_note": None, "reviewed_at": None}
"""the columns of a label that nobody reviewed"""


def put(db: orm.Session, label: Label, *, state: str, author: str, note: str | None = None, seen: str) -> None:
    """Make `state` (reviewed or returned) what `author` says of somebody else's label, and commit.

    `seen` is the stamp of the label that was looked at. Raises `BadLabel` where the label is one's own or was changed
    since, and where one is returned without a note.
    """
    author, note = checked_author(author), checked_note(note)
    if state not in history.REVIEWING:
        raise BadLabel(f"a review is one of {', '.join(history.REVIEWING)}, not {state[:100]!r}")
    if author == label.author:
        raise BadLabel("you cannot review your own label")
    if state == "returned" and note is None:
        raise BadLabel("write a note: what should the author change?")
    was = history.content_of(label).get("review")
    values = {"review": state, "reviewer": author, "review_note": note, "reviewed_at": datetime.now(UTC)}
    if not write(db, label.turn_id, label.author, seen, values):
        db.rollback()
        raise BadLabel("this label was changed since you opened it; look again")
    event = {"of": label.author, "note": note, "label": seen, "was_review": was, "batch": str(uuid.uuid4())}
    history.record(db, label.turn_id, author, state, event)
    db.commit()


def restore(db: orm.Session, turn_id: int, author: str, stamp: str, review: Mapping[str, Any] | None) -> bool:
    """Make the review of `author`'s label what `history.review_of` said of it, without a commit and without an event;
    False where the label has another stamp by now. Raises `BadLabel` for what is no review."""
    return write(db, turn_id, author, stamp, columns(review))


def columns(review: Mapping[str, Any] | None) -> dict[str, Any]:
    """The columns of a label with this review, as `history.review_of` writes it. Raises `BadLabel`."""
    if not review or review.get("state") == history.NOT_REVIEWED:
        return NONE
    if review.get("state") not in history.REVIEWING:
        raise BadLabel(f"a review is one of {', '.join(STATES)}")
    at = datetime.fromisoformat(str(review["at"]))
    by, note = checked_author(str(review["by"])), checked_note(review.get("note"))
    return {"review": review["state"], "reviewer": by, "review_note": note, "reviewed_at": at}


def following(db: orm.Session, viewer: str, *, after: int = 0, of: str | None = None) -> Label | None:
    """The next label that `viewer` may review (others' that nobody did) behind the label `after`, else the first;
    `of` narrows them to an author's."""
    query = _others(sa.select(Label), viewer, of).where(Label.review.is_(None)).order_by(Label.id).limit(1)
    label: Label | None = db.scalar(query.where(Label.id > after)) or db.scalar(query.where(Label.id != after))
    return label


def counts(db: orm.Session, viewer: str, of: str | None = None) -> dict[str, int]:
    """How many labels of others are in each of the `STATES`."""
    state = sa.func.coalesce(Label.review, history.NOT_REVIEWED)
    rows = db.execute(_others(sa.select(state, sa.func.count()), viewer, of).group_by(state))
    return dict.fromkeys(STATES, 0) | {row[0]: row[1] for row in rows}


def _others(query: Any, viewer: str, of: str | None) -> Any:
    query = query.join(Turn, Turn.id == Label.turn_id).join(Session, Session.id == Turn.session_id)
    query = query.where(Session.deleted_at.is_(None), Label.author != viewer)
    return query.where(Label.author == of) if of else query


def write(db: orm.Session, turn_id: int, author: str, stamp: str, values: dict[str, Any]) -> bool:
    """Set these columns of `author`'s label, without a commit; False where it has another stamp by now."""
    try:
        made_at = datetime.fromisoformat(stamp)
    except ValueError:
        return False
    same = (Label.turn_id == turn_id, Label.author == author, Label.made_at == made_at)
    update = sa.update(Label).where(*same).values(values).returning(Label.id)
    return db.scalar(update, execution_options={"synchronize_session": False}) is not None
