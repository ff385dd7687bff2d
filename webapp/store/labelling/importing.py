"""Takes labels back that were exported: finds each response again by its text, and changes nothing twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store import labels
from webapp.store.dialect import upsert
from webapp.store.ids import shortened
from webapp.store.labelling import causes, history
from webapp.store.labelling.settling import Labelled, every
from webapp.store.labels import BadLabel, Said
from webapp.store.models import FinalLabel, Label, LabelEvent, Session, Turn
from webapp.store.turns import MODEL_KINDS, PREVIEW

AT_ONCE = 200
Row = Mapping[str, Any]
Numbered = tuple[int, Row]


@dataclass(slots=True)
class Imported:
    """What became of the rows: `new` labels, `changed` ones (older here), `same` as here or newer here, and the
    problems as (line, reason) where a row could not be placed."""

    new: int = 0
    changed: int = 0
    same: int = 0
    problems: list[tuple[int, str]] = field(default_factory=list)


def rows(db: orm.Session) -> Iterator[dict[str, Any]]:
    """One row a label, in the order of turns: what `take` takes back. docs/labels.md describes it."""
    for one in every(db, with_history=True):
        for label in one.labels:
            yield _row(one, label)


def take(db: orm.Session, numbered: Iterable[Numbered]) -> Imported:
    """Store the labels of rows, each with the line that it stood on; commits a few hundred at a time.

    A response is found by its text's sha256 in the session of that id, else anywhere. A label that is here already
    stays where it is as new as the row.
    """
    done = Imported()
    homeless: list[Numbered] = []
    for batch in _batches(numbered):
        placed = [(line, row, _in_session(db, row)) for line, row in batch]
        homeless += [(line, row) for line, row, turn in placed if turn is None]
        _store(db, [(line, row, turn) for line, row, turn in placed if turn is not None], done)
    for batch in _batches(homeless):
        found = _anywhere(db, [row for _, row in batch])
        _store(db, [(line, row, found[sha]) for line, row in batch if (sha := _sha(row)) in found], done)
        gone = [(line, _lost(row)) for line, row in batch if _sha(row) not in found]
        done.problems += gone
    done.problems.sort()
    return done


def _batches(numbered: Iterable[Numbered]) -> Iterator[list[Numbered]]:
    iterator = iter(numbered)
    for first in iterator:
        batch = [first]
        for one in iterator:
            batch.append(one)
            if len(batch) == AT_ONCE:
                break
        yield batch


def _row(one: Labelled, label: Label) -> dict[str, Any]:
    events = [event.as_dict() for event in reversed(one.history) if event.author == label.author]
    return {
        "session": one.session.external_id,
        "key": one.session.key,
        "revision": one.session.revision,
        "position": one.turn.position,
        "raw_sha256": (one.turn.raw_sha256 or b"").hex(),
        **{name: getattr(label, name) for name in ("author", "judgement", "cause", "expects", "expected", "note")},
        "seconds": label.seconds,
        "made_at": label.made_at.isoformat(),
        "history": [event for event in events if event["action"] not in history.SETTLING],
        "settled": one.settlement(),
        "preview": (one.turn.raw or "")[:PREVIEW],
    }


def _sha(row: Row) -> bytes:
    try:
        return bytes.fromhex(str(row.get("raw_sha256") or ""))
    except ValueError:
        return b""


def _lost(row: Row) -> str:
    if len(_sha(row)) != 32:
        return "raw_sha256 is not the 64 hexadecimal digits of a sha256"
    return f"no stored response has this text (session {str(row.get('session'))[:100]!r}, turn {row.get('position')})"


def _in_session(db: orm.Session, row: Row) -> Turn | None:
    """The response with that text in the session of that id: in the same revision and place if it is there."""
    external_id = row.get("session", row.get("external_id"))
    sha = _sha(row)
    if not isinstance(external_id, str) or len(sha) != 32:
        return None
    query = (
        sa.select(Turn, Session.revision)
        .join(Session, Session.id == Turn.session_id)
        .where(Session.external_id == shortened(external_id), Session.deleted_at.is_(None))
        .where(Turn.raw_sha256 == sha, Turn.duplicate_of.is_(None), Turn.kind.in_(MODEL_KINDS))
    )
    found = db.execute(query).all()
    wanted = (row.get("revision"), row.get("position"))
    ranked = sorted(found, key=lambda hit: (hit.revision != wanted[0], hit.Turn.position != wanted[1], -hit.revision))
    return ranked[0].Turn if ranked else None


def _anywhere(db: orm.Session, given: Iterable[Row]) -> dict[bytes, Turn]:
    """Responses with these texts in any session: one pass over all that is stored."""
    wanted = {sha for row in given if len(sha := _sha(row)) == 32}
    query = (
        sa.select(Turn)
        .join(Session, Session.id == Turn.session_id)
        .where(Turn.raw_sha256.in_(wanted), Turn.duplicate_of.is_(None), Turn.kind.in_(MODEL_KINDS))
        .where(Session.deleted_at.is_(None))
    )
    found: dict[bytes, Turn] = {}
    for turn in db.scalars(query.order_by(Turn.id)) if wanted else ():
        found.setdefault(bytes(turn.raw_sha256 or b""), turn)
    return found


def _store(db: orm.Session, placed: list[tuple[int, Row, Turn]], done: Imported) -> None:
    changed = []
    for line, row, turn in placed:
        try:
            what = _one(db, turn, row)
            _settle(db, turn, row.get("settled"))
        except (BadLabel, causes.BadCause, KeyError, TypeError, ValueError) as error:
            done.problems.append((line, _reason(error)))
            continue
        setattr(done, what, getattr(done, what) + 1)
        changed.append(turn)
    labels._save(db, *changed)


def _reason(error: Exception) -> str:
    return f"the row has no {error.args[0]!r}" if isinstance(error, KeyError) else str(error)


def _one(db: orm.Session, turn: Turn, row: Row) -> str:
    """Store a row's label: whether it was new, changed what was here, or is the same."""
    author = labels.checked_author(str(row["author"]))
    said = labels.checked(_said(row))
    made_at = _time(row["made_at"])
    stored = labels.of_author(db, turn, author)
    told = _remember(db, turn, author, row.get("history") or ())
    if stored is not None and stored.made_at >= made_at:
        return "same"
    was = None if stored is None else history.said(stored)
    values = {name: getattr(said, name) for name in history.SAID}
    values |= {"cause": causes.resolve(db, said.cause, author), "has_expected": said.has_expected}
    values |= {"turn_id": turn.id, "author": author, "made_at": made_at}
    db.execute(upsert(db.get_bind().dialect.name, Label, values, ("turn_id", "author")))
    if not told:
        now = {**{name: values[name] for name in history.SAID}, "made_at": made_at.isoformat(), "was": was}
        history.record(db, turn.id, author, "imported", now)
    return "new" if stored is None else "changed"


def _remember(db: orm.Session, turn: Turn, author: str, events: Iterable[Any]) -> int:
    """Store those events that are not there yet; how many."""
    query = sa.select(LabelEvent.action, LabelEvent.happened_at).where(
        LabelEvent.turn_id == turn.id, LabelEvent.author == author
    )
    known = {(row.action, row.happened_at) for row in db.execute(query)}
    new = 0
    for event in events:
        at = _time(event["happened_at"])
        action = str(event["action"])[:16]
        if (action, at) not in known:
            history.record(db, turn.id, author, action, dict(event["said"]), at)
            new += 1
    return new


def _settle(db: orm.Session, turn: Turn, settled: Any) -> None:
    if not settled:
        return
    author = labels.checked_author(str(settled["author"]))
    said = labels.checked(_said({**settled, "note": settled.get("why")}))
    made_at = _time(settled["made_at"])
    stored = db.get(FinalLabel, turn.id, populate_existing=True)
    told = sum(_remember(db, turn, str(event["author"]), [event]) for event in settled.get("history") or ())
    if stored is not None and stored.made_at >= made_at:
        return
    values = {"turn_id": turn.id, "author": author, "judgement": said.judgement, "expects": said.expects}
    values |= {"cause": causes.resolve(db, said.cause, author), "expected": said.expected, "why": said.note}
    db.execute(upsert(db.get_bind().dialect.name, FinalLabel, values | {"made_at": made_at}, ("turn_id",)))
    if not told:
        now = db.get(FinalLabel, turn.id, populate_existing=True)
        history.record(db, turn.id, author, "settled", history.settlement(now), made_at)


def _said(row: Row) -> Said:
    texts = {name: row.get(name) for name in ("cause", "note", "expects")}
    if any(text is not None and not isinstance(text, str) for text in texts.values()):
        raise BadLabel(f"{', '.join(texts)} are texts")
    return Said(str(row["judgement"]), **texts, expected=row.get("expected"), seconds=row.get("seconds"))


def _time(text: Any) -> datetime:
    when = datetime.fromisoformat(str(text))
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
