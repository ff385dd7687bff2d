"""Labels: what people say of responses, kept whatever becomes of the session."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.dumps.records import MODEL_KINDS
from webapp.refusals import NotPossible
from webapp.store.db.dialect import change, upsert
from webapp.store.labels import causes, label_content
from webapp.store.labels.label_content import BadLabel, LabelContent
from webapp.store.models import FinalLabel, Label, Session, Turn
from webapp.store.search.index import noted


class Conflict(NotPossible):
    """The label was changed since it was seen, by the same name elsewhere; `stored` is what it says now, or None."""

    status, code = 409, "conflict"

    def __init__(self, label: Label | None) -> None:
        super().__init__("this label was changed in another window")
        self.stored = label


def put(
    db: orm.Session, turn: Turn, *, author: str, seen: str | None = None, has_expected: bool = False, **fields: Any
) -> Label:
    """Set `author`'s label of `turn`, in place of one of theirs that was there, and commit. Raises `BadLabel`.

    `fields` are those of `LabelContent`. `expected` counts only with `has_expected`, since null is a value that may be
    expected, or with an `expects`. `seen` is the `stamp` that the author last saw; where the label has another by now,
    raises `Conflict`.
    """
    content = LabelContent(**fields)
    if has_expected and not content.expects:
        content = replace(content, expects="one")
    return put_all(db, [(turn, content)], author=author, seen=seen)


def put_all(
    db: orm.Session,
    labels: Sequence[tuple[Turn, LabelContent]],
    *,
    author: str,
    seen: str | None = None,
    like: str = "",
) -> Label:
    """Set the first label as `put` does and give the others to turns that `author` has not labelled, at once.

    `like` names the first response in the history of the others. Returns the first label.
    """
    author = label_content.checked_author(author)
    checked = [(turn, label_content.checked(content)) for turn, content in labels]
    turns = [turn for turn, _ in checked]
    for turn in turns:
        _check_turn(turn)
    hold(db, *turns)
    batch = str(uuid.uuid4())
    for index, (turn, content) in enumerate(checked):
        content = replace(content, cause=causes.resolve(db, content.cause, author))
        more = {"batch": batch} | ({"like": like} if index else {})
        if not _write(db, turn, author, content, more, "" if index else seen) and index == 0:
            db.rollback()
            raise Conflict(of_author(db, turn, author))
    _save(db, *turns)
    label = of_author(db, turns[0], author)
    if label is None:
        raise Conflict(None)
    return label


def remove(db: orm.Session, turn: Turn, *, author: str) -> bool:
    """Take `author`'s label of `turn` away and commit; False where there is none."""
    return take_away(db, turn, author, "removed", _of_author(turn, author), {"batch": str(uuid.uuid4())})


def take_away(
    db: orm.Session,
    turn: Turn,
    author: str,
    action: str,
    query: sa.Select[Label] | sa.Select[FinalLabel],
    more: dict[str, str],
) -> bool:
    """Remove the label, or the settled one, that the query finds, note the `action` of the author's, and commit."""
    hold(db, turn)
    label: Label | FinalLabel | None = db.scalar(query)
    if label is None:
        db.rollback()
        return False
    was = label_content.content_of(label)
    label_content.record(db, turn.id, author, action, {**was, "was": was, **more})
    db.delete(label)
    _save(db, turn)
    return True


def undo(db: orm.Session, author: str) -> list[Turn]:
    """Undo `author`'s last save or removal, in every response, and commit; the turns that changed."""
    events = label_content.last_batch(db, author)
    changed = [db.get_one(Turn, event.turn_id) for event in events]
    hold(db, *changed)
    if events != label_content.last_batch(db, author):  # they saved or undid more in another window meanwhile
        db.rollback()
        return undo(db, author)
    for event, turn in zip(events, changed, strict=True):
        restore(db, turn, author, event.said.get("was"))
        undone = {"undoes": event.said.get("batch")}
        label_content.record(db, turn.id, author, "undone", {**(event.said.get("was") or {}), **undone})
    _save(db, *changed)
    return changed[::-1]


def restore(db: orm.Session, turn: Turn, author: str, was: dict[str, Any] | None) -> None:
    """Make `author`'s label of `turn` what an event says that it was, or take it away; without a commit."""
    if was is None:
        db.execute(sa.delete(Label).where(Label.turn_id == turn.id, Label.author == author))
        return
    fields: dict[str, Any] = {name: was.get(name) for name in label_content.FIELDS}
    overwrite(db, turn, author, LabelContent(**fields), datetime.fromisoformat(was["made_at"]))


def overwrite(db: orm.Session, turn: Turn, author: str, content: LabelContent, made_at: datetime) -> Label:
    """Make `author`'s label of `turn` say `content`, without a commit and without an event; that label."""
    content = replace(content, cause=causes.resolve(db, content.cause, author))
    values = _fields(content) | {"turn_id": turn.id, "author": author, "made_at": made_at}
    db.execute(upsert(Label, values, ("turn_id", "author")))
    return db.scalars(_of_author(turn, author)).one()


def of_turn(db: orm.Session, turn: Turn) -> list[Label]:
    """The labels of `turn`, the newest first."""
    query = sa.select(Label).where(Label.turn_id == turn.id).order_by(Label.made_at.desc(), Label.id)
    return list(db.scalars(query))


def of_author(db: orm.Session, turn: Turn, author: str) -> Label | None:
    """What `author` says of `turn` now."""
    return db.scalar(_of_author(turn, author))


def _of_author(turn: Turn, author: str) -> sa.Select[Label]:
    mine = sa.select(Label).where(Label.turn_id == turn.id, Label.author == author)
    return mine.execution_options(populate_existing=True)


def of_same_text(db: orm.Session, session: Session, turn: Turn, author: str) -> Any:
    """What `author` last said of this text in another revision of the same session: (Label, Session, position)."""
    if turn.raw_sha256 is None or (session.revision == 1 and session.newest):
        return None
    here = (Session.external_id == session.external_id, Session.id != session.id, Session.deleted_at.is_(None))
    query = sa.select(Label, Session, Turn.position).join(Turn, Turn.id == Label.turn_id)
    query = query.join(Session, Session.id == Turn.session_id).where(*here)
    query = query.where(Turn.raw_sha256 == turn.raw_sha256, Label.author == author)
    return db.execute(query.order_by(Label.made_at.desc()).limit(1)).first()


def stamp(label: Label | FinalLabel | None) -> str:
    """What tells one state of a label, or of a settled one, from another; empty where there is none."""
    return "" if label is None else label.made_at.isoformat()


def is_seen(label: Label | FinalLabel | None, seen: str | None) -> bool:
    """Whether a label is still as it was `seen`, by its `stamp` or that time written otherwise; None asks nobody."""
    if seen is None or label is None:
        return not seen
    try:
        return label.made_at == datetime.fromisoformat(seen)
    except ValueError:
        return False


def hold(db: orm.Session, *turns: Turn) -> None:
    """Have who labels responses of these turns' sessions wait till the transaction ends, and see then what it did.

    Who writes labels begins with this, or two that wait for each other's rows end with an error.
    """
    here = Session.id.in_({turn.session_id for turn in turns})
    db.execute(sa.select(Session.id).where(here).order_by(Session.id).with_for_update(key_share=True)).all()
    unsynchronized = {"synchronize_session": False}
    db.execute(sa.update(Session).where(here).values(changed=change()), execution_options=unsynchronized)


def _write(
    db: orm.Session, turn: Turn, author: str, content: LabelContent, more: dict[str, str], seen: str | None
) -> bool:
    """Write one label and its event; False where the one that is there is neither what was seen nor the same."""
    current = of_author(db, turn, author)
    if not is_seen(current, seen):
        return current is not None and _fields(content) | _timeless == _fields(current) | _timeless
    was = None if current is None else label_content.content_of(current)
    label = overwrite(db, turn, author, content, datetime.now(UTC))
    label_content.record(db, turn.id, author, "put", {**label_content.content_of(label), "was": was, **more})
    return True


_timeless = {"seconds": None, "source": None}


def _fields(holder: Any) -> dict[str, Any]:
    return {name: getattr(holder, name) for name in label_content.FIELDS}


def _save(db: orm.Session, *turns: Turn) -> None:
    """Commit what changed in sessions that the caller holds, with their labelled responses counted anew."""
    db.flush()
    noted(db.connection(), (turn.id for turn in turns))
    labelled = (
        sa.select(sa.func.count(Label.turn_id.distinct()))
        .join(Turn, Turn.id == Label.turn_id)
        .where(Turn.session_id == Session.id)
        .scalar_subquery()
    )
    counted = sa.update(Session).where(Session.id.in_({turn.session_id for turn in turns}))
    db.execute(counted.values(label_count=labelled), execution_options={"synchronize_session": False})
    db.commit()


def _check_turn(turn: Turn) -> None:
    if turn.kind not in MODEL_KINDS or turn.raw is None:
        raise BadLabel(f"turn {turn.position} is a {turn.kind} that no model wrote; only responses are labelled")
    if turn.duplicate_of is not None:
        raise BadLabel(f"this entry was merged into turn {turn.position}; the label belongs there")
