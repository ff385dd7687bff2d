"""Settling: which label of a response is final, where people disagree, how that was settled, and how far they agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import combinations, groupby, islice
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.exports.base import expected_values
from webapp.store.db.dialect import upsert
from webapp.store.db.ids import batched
from webapp.store.labels import causes, label_content, labels
from webapp.store.labels.label_content import LabelContent, same_as
from webapp.store.models import TURNS_A_SESSION, FinalLabel, Label, LabelEvent, Session, Turn
from webapp.store.rates import alpha

_AT_ONCE = 200
_of_several = sa.select(Label.turn_id).group_by(Label.turn_id).having(sa.func.count() > 1)
"""the turns that several people labelled"""


@dataclass(frozen=True, slots=True)
class Final:
    """What holds for a response. `how` is settled, agreed or alone; `authors` are those whose label it is.

    `values` are the values that should come out, in order: [] where no JSON is meant, None where that is not known.
    """

    content: LabelContent
    how: str
    authors: tuple[str, ...]
    made_at: datetime

    @property
    def values(self) -> list[Any] | None:
        return expected_values(self.content)


@dataclass(frozen=True, slots=True)
class Labelled:
    """A response with its labels, the oldest first; `final` is None where people disagree and nobody settled it."""

    turn: Turn
    session: Session
    labels: tuple[Label, ...]
    settled: FinalLabel | None
    final: Final | None
    history: tuple[LabelEvent, ...] = ()

    def settlement(self) -> dict[str, Any] | None:
        """How a disagreement was settled, as exports say it; None where nobody settled one."""
        if self.settled is None:
            return None
        events = [event.as_dict() for event in reversed(self.history) if event.action in label_content.SETTLING]
        return {"author": self.settled.author, **label_content.content_of(self.settled), "history": events}

    def history_of(self, label: Label) -> list[dict[str, Any]]:
        """What happened to one of the labels, the oldest first, as exports say it."""
        return [event.as_dict() for event in reversed(self.history) if label_content.is_of(event, label.author)]


def final(db: orm.Session, turn: Turn) -> Final | None:
    """The settled label of `turn`, else the one that all gave (the same judgement and the same expected value), else
    the only one; None where people disagree, or nobody labelled it."""
    return next((response.final for response in of_turns(db, [turn.id])), None)


def decide(labels_given: Sequence[Label], settled: FinalLabel | None) -> Final | None:
    """`final`, of labels at hand, the oldest first."""
    if settled is not None:
        content = LabelContent(settled.judgement, settled.cause, settled.why, settled.expects, settled.expected)
        return Final(content, "settled", (settled.author,), settled.made_at)
    if not labels_given or disagree(labels_given):
        return None
    newest = labels_given[-1]
    cause = next((label.cause for label in reversed(labels_given) if label.cause), None)
    note = "\n".join(label.note for label in labels_given if label.note) or None
    content = LabelContent(newest.judgement, cause, note, newest.expects, newest.expected)
    how = "alone" if len(labels_given) == 1 else "agreed"
    return Final(content, how, tuple(label.author for label in labels_given), newest.made_at)


def position(label: Label) -> tuple[str, str]:
    """What must be the same for two people to agree."""
    values = expected_values(label)
    return label.judgement, (label.expects or "") if values is None else same_as(values)


def finals(db: orm.Session) -> list[tuple[int, str | None, Final | None]]:
    """Turn, model and `final` of every labelled response, in the order of turns."""
    settled = {row.turn_id: row for row in db.scalars(sa.select(FinalLabel))}
    query = sa.select(Label, Turn.model).join(Turn, Turn.id == Label.turn_id)
    query = query.join(Session, Session.id == Turn.session_id).where(Session.deleted_at.is_(None))
    rows = db.execute(query.order_by(Label.turn_id, Label.made_at, Label.id))
    of_turns = groupby(rows, key=lambda row: (row.Label.turn_id, row.model))
    return [(*turn, decide([row.Label for row in of_turn], settled.get(turn[0]))) for turn, of_turn in of_turns]


def every(
    db: orm.Session,
    *,
    with_history: bool = False,
    sessions: Set[int] | None = None,
    turn_ids: Collection[int] | None = None,
) -> Iterator[Labelled]:
    """Every labelled response in the order of turns, a few hundred at a time; of some sessions or turns if asked."""
    labelled = db.scalars(sa.select(Label.turn_id).distinct().order_by(Label.turn_id)).all()
    if sessions is not None:
        labelled = [number for number in labelled if number // TURNS_A_SESSION in sessions]
    if turn_ids is not None:
        labelled = sorted(set(turn_ids).intersection(labelled))
    for batch in batched(labelled, _AT_ONCE):
        yield from of_turns(db, batch, with_history=with_history)


def of_turns(db: orm.Session, turn_ids: Sequence[int], *, with_history: bool = False) -> list[Labelled]:
    """These responses with their labels, in the order of turns."""
    by_turn: dict[int, list[Label]] = {}
    for label in db.scalars(sa.select(Label).where(Label.turn_id.in_(turn_ids)).order_by(Label.made_at, Label.id)):
        by_turn.setdefault(label.turn_id, []).append(label)
    settled = {row.turn_id: row for row in db.scalars(sa.select(FinalLabel).where(FinalLabel.turn_id.in_(turn_ids)))}
    events = label_content.of_turns(db, turn_ids) if with_history else {}
    joined = sa.select(Turn, Session).join(Session, Session.id == Turn.session_id)
    rows = db.execute(joined.where(Turn.id.in_(turn_ids), Session.deleted_at.is_(None)).order_by(Turn.id)).all()
    return [
        Labelled(
            *(turn, session, tuple(by_turn.get(turn.id, ())), settled.get(turn.id)),
            decide(by_turn.get(turn.id, ()), settled.get(turn.id)),
            tuple(events.get(turn.id, ())),
        )
        for turn, session in rows
    ]


def disagreements(db: orm.Session, *, after: int = -1, limit: int = 50, settled: bool = False) -> list[Labelled]:
    """Responses that people judged differently, not settled yet (or `settled`), behind the turn `after`."""
    ids = db.scalars(_of_several.where(Label.turn_id > after).order_by(Label.turn_id)).all()
    responses = (response for some in batched(ids, _AT_ONCE) for response in of_turns(db, some))
    differing = (response for response in responses if disagree(response.labels))
    return list(islice((one for one in differing if (one.settled is not None) is settled), limit))


def disagree(labels_given: Sequence[Label]) -> bool:
    """Whether people said different things of one response."""
    return len({position(label) for label in labels_given}) > 1


def settle(
    db: orm.Session, turn: Turn, content: LabelContent, *, author: str, why: str | None, seen: str | None = None
) -> None:
    """Make `content` the final label of `turn`, whoever labelled it, and commit.

    Raises `BadLabel`, and `Conflict` where it was settled otherwise since it was `seen`.
    """
    author = label_content.checked_author(author)
    content = label_content.checked(replace(content, note=why))
    labels.hold(db, turn)
    current = db.get(FinalLabel, turn.id, populate_existing=True)
    if not labels.is_seen(current, seen):
        db.rollback()
        raise labels.Conflict(None)
    was = None if current is None else label_content.content_of(current)
    settled = overwrite(db, turn, author, content, datetime.now(UTC))
    label_content.record(db, turn.id, author, "settled", label_content.content_of(settled) | {"was": was})
    labels._save(db, turn)


def overwrite(db: orm.Session, turn: Turn, author: str, content: LabelContent, made_at: datetime) -> FinalLabel:
    """Make the settled label of `turn` say `content`, whose note says why, without a commit and without an event."""
    values = {"turn_id": turn.id, "author": author, "made_at": made_at, "judgement": content.judgement}
    values |= {"cause": causes.resolve(db, content.cause, author), "why": content.note}
    values |= {"expects": content.expects, "expected": content.expected}
    db.execute(upsert(FinalLabel, values, ("turn_id",)))
    return db.get_one(FinalLabel, turn.id, populate_existing=True)


def unsettle(db: orm.Session, turn: Turn, *, author: str) -> bool:
    """Take the settlement of `turn` back and commit; False where there is none."""
    query = sa.select(FinalLabel).where(FinalLabel.turn_id == turn.id).execution_options(populate_existing=True)
    return labels.take_away(db, turn, label_content.checked_author(author), "unsettled", query, {})


def measured(db: orm.Session) -> dict[str, Any]:
    """How far people agree: `units` responses have labels of two people or more; of each of `pairs` how many `both`
    labelled, and of those how many alike by judgement, expected value and cause; and alphas as `rates.alpha` says."""
    units = _units(db)
    agreement: dict[str, Any] = {"units": len(units), "pairs": _pairs(units)}
    agreement["judgement"] = alpha([label.judgement for label in unit] for unit in units)
    agreement["cause"] = alpha([label.cause for label in unit if label.cause] for unit in units)
    return agreement


def _units(db: orm.Session) -> list[list[Label]]:
    query = sa.select(Label).where(Label.turn_id.in_(_of_several)).order_by(Label.turn_id, Label.author)
    return [list(unit) for _, unit in groupby(db.scalars(query), key=lambda label: label.turn_id)]


def _pairs(units: Iterable[Sequence[Label]]) -> dict[tuple[str, str], Counter[str]]:
    counts: dict[tuple[str, str], Counter[str]] = {}
    for unit in units:
        for first, second in combinations(unit, 2):
            pair_counts = counts.setdefault((first.author, second.author), Counter())
            pair_counts["both"] += 1
            pair_counts["judgement"] += first.judgement == second.judgement
            pair_counts["expected"] += position(first)[1] == position(second)[1]
            pair_counts["cause"] += first.cause == second.cause
    return dict(sorted(counts.items()))
