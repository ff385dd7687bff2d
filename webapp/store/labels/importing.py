"""Takes labels back that were exported: finds each response again by its text, and changes nothing twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.ids import batched, shortened
from webapp.store.labels import label_content, labels, settling
from webapp.store.labels.label_content import BadLabel, LabelContent
from webapp.store.models import FinalLabel, LabelEvent, Session, Turn, is_response

AT_ONCE = 200
Row = Mapping[str, Any]
Numbered = tuple[int, Row]
_responses = (
    sa.select(Turn, Session.revision)
    .join(Session, Session.id == Turn.session_id)
    .where(is_response, Session.deleted_at.is_(None))
)


@dataclass(slots=True)
class Imported:
    """What became of the rows: `new` labels, `changed` ones (older here), `same` as here or newer here, and the
    problems as (line, reason) where a row could not be placed."""

    new: int = 0
    changed: int = 0
    same: int = 0
    problems: list[tuple[int, str]] = field(default_factory=list)


def take(db: orm.Session, numbered: Iterable[Numbered]) -> Imported:
    """Store the labels of rows, each with the line that it stood on; commits a few hundred at a time.

    A response is found by its text's sha256 in the session of that id, else anywhere. A label that is here already
    stays where it is as new as the row.
    """
    result = Imported()
    homeless: list[Numbered] = []
    for batch in batched(numbered, AT_ONCE):
        placed = [(line, row, _in_session(db, row)) for line, row in batch]
        homeless += [(line, row) for line, row, turn in placed if turn is None]
        _store(db, [(line, row, turn) for line, row, turn in placed if turn is not None], result)
    for batch in batched(homeless, AT_ONCE):
        by_hash = _anywhere(db, [row for _, row in batch])
        _store(db, [(line, row, by_hash[sha]) for line, row in batch if (sha := _sha(row)) in by_hash], result)
        result.problems += [(line, _lost(row)) for line, row in batch if _sha(row) not in by_hash]
    result.problems.sort()
    return result


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
    external_id = row.get("session")
    sha = _sha(row)
    if not isinstance(external_id, str) or len(sha) != 32:
        return None
    hits = db.execute(_responses.where(Session.external_id == shortened(external_id), Turn.raw_sha256 == sha))
    revision, at = row.get("revision"), row.get("position")
    ranked = sorted(hits, key=lambda hit: (hit.revision != revision, hit.Turn.position != at, -hit.revision))
    return ranked[0].Turn if ranked else None


def _anywhere(db: orm.Session, rows: Iterable[Row]) -> dict[bytes, Turn]:
    """Responses with these texts in any session: one pass over all that is stored."""
    hashes = {sha for row in rows if len(sha := _sha(row)) == 32}
    newest_first = _responses.where(Turn.raw_sha256.in_(hashes)).order_by(Turn.id.desc())
    return {bytes(turn.raw_sha256 or b""): turn for turn in db.scalars(newest_first)} if hashes else {}


def _store(db: orm.Session, placed: list[tuple[int, Row, Turn]], result: Imported) -> None:
    changed = []
    labels.hold(db, *(turn for _, _, turn in placed))
    for line, row, turn in placed:
        try:
            outcome = _store_label(db, turn, row)
            _settle(db, turn, row.get("settled"))
        except (BadLabel, KeyError, TypeError, ValueError) as error:
            words = f"the row has no {error.args[0]!r}" if isinstance(error, KeyError) else str(error)
            result.problems.append((line, words))
            continue
        setattr(result, outcome, getattr(result, outcome) + 1)
        changed.append(turn)
    labels._save(db, *changed)


def _store_label(db: orm.Session, turn: Turn, row: Row) -> str:
    """Store a row's label: whether it was new, changed what was here, or is the same."""
    author = label_content.checked_author(str(row["author"]))
    content = label_content.checked(_content(row))
    made_at = _time(row["made_at"])
    current = labels.of_author(db, turn, author)
    event_count = _remember(db, turn, author, row.get("history") or ())
    if current is not None and current.made_at >= made_at:
        return "same"
    was = None if current is None else label_content.content_of(current)
    label = labels.overwrite(db, turn, author, content, made_at)
    if not event_count:
        label_content.record(db, turn.id, author, "imported", {**label_content.content_of(label), "was": was})
    return "changed" if was else "new"


def _remember(db: orm.Session, turn: Turn, author: str, events: Iterable[Any]) -> int:
    """Store those events that are not there yet and that are of a kind we write, under `author`; how many."""
    theirs = (LabelEvent.turn_id == turn.id, LabelEvent.author == author)
    recorded = {tuple(row) for row in db.execute(sa.select(LabelEvent.action, LabelEvent.happened_at).where(*theirs))}
    new = 0
    for event in events:
        at = _time(event["happened_at"])
        action = str(event["action"])
        if action in label_content.ACTIONS and (action, at) not in recorded:
            label_content.record(db, turn.id, author, action, dict(event["said"]), at)
            new += 1
    return new


def _settle(db: orm.Session, turn: Turn, settled: Any) -> None:
    if not settled:
        return
    author = label_content.checked_author(str(settled["author"]))
    content = label_content.checked(_content({**settled, "note": settled.get("why")}))
    made_at = _time(settled["made_at"])
    current = db.get(FinalLabel, turn.id, populate_existing=True)
    event_count = sum(_remember(db, turn, str(event["author"]), [event]) for event in settled.get("history") or ())
    if current is not None and current.made_at >= made_at:
        return
    imported = settling.overwrite(db, turn, author, content, made_at)
    if not event_count:
        label_content.record(db, turn.id, author, "settled", label_content.content_of(imported), made_at)


def _content(row: Row) -> LabelContent:
    texts = {name: row.get(name) for name in ("cause", "note", "expects")}
    if any(text is not None and not isinstance(text, str) for text in texts.values()):
        raise BadLabel(f"{', '.join(texts)} are texts")
    return LabelContent(str(row["judgement"]), **texts, expected=row.get("expected"), seconds=row.get("seconds"))


def _time(text: Any) -> datetime:
    when = datetime.fromisoformat(str(text))
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
