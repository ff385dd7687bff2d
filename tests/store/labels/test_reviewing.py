"""Reviewing: whose label may be accepted or returned by whom, what a change does to that, undo, lists and exports."""

from __future__ import annotations

import json
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.made import BROKEN, Bring, complete, entry, windlass
from webapp.store.exports import exporting
from webapp.store.labels import causes, history, importing, label_list, labels, reviewing
from webapp.store.labels.label_content import BadLabel
from webapp.store.labels.queues import queue_progress
from webapp.store.labels.queues.queue_spec import Spec
from webapp.store.models import Label, LabelEvent, Turn
from webapp.store.sessions import sessions, turns


@pytest.fixture
def turn(bring: Bring, db: orm.Session) -> Turn:
    bring(windlass("s1", [entry(BROKEN), entry('```json\n{"b": 1}}}\n```')]))
    return at(db, 0)


def at(db: orm.Session, position: int) -> Turn:
    return turns.find(db, sessions.find(db, "s1"), position).turn


def state(db: orm.Session, turn: Turn, author: str = "ann") -> str:
    label = labels.of_author(db, turn, author)
    assert label is not None
    return str(history.review_of(label)["state"])


def review(db: orm.Session, turn: Turn, state: str, note: str | None = None, *, author: str = "bob") -> None:
    label = labels.of_author(db, turn, "ann")
    assert label is not None
    reviewing.put(db, label, state=state, author=author, note=note, seen=labels.stamp(label))


def test_somebody_else_accepts_or_returns_a_label(turn: Turn, db: orm.Session) -> None:
    label = labels.put(db, turn, author="ann", judgement="missed")
    assert history.review_of(label) == {"state": "not reviewed", "by": None, "note": None, "at": None}
    with pytest.raises(BadLabel, match="cannot review your own"):
        review(db, turn, "reviewed", author="ann")
    with pytest.raises(BadLabel, match="note"):
        review(db, turn, "returned", "  ")
    with pytest.raises(BadLabel, match="one of"):
        review(db, turn, "perfect")
    review(db, turn, "returned", "which brace?")
    assert state(db, turn) == "returned"
    review(db, turn, "reviewed")
    assert state(db, turn) == "reviewed"
    actions = [(event.action, event.author) for event in history.of_turn(db, turn.id)]
    assert actions == [("reviewed", "bob"), ("returned", "bob"), ("put", "ann")]


def test_a_label_that_changed_meanwhile_is_not_reviewed(turn: Turn, db: orm.Session) -> None:
    label = labels.put(db, turn, author="ann", judgement="missed")
    seen = labels.stamp(label)
    labels.put(db, turn, author="ann", judgement="wrong")
    for stamp in (seen, "nonsense"):
        with pytest.raises(BadLabel, match="look again"):
            reviewing.put(db, label, state="reviewed", author="bob", seen=stamp)
    assert state(db, turn) == "not reviewed"


def test_a_change_begins_anew_and_undo_brings_the_review_back(turn: Turn, db: orm.Session) -> None:
    labels.put(db, turn, author="ann", judgement="missed")
    review(db, turn, "reviewed")
    labels.put(db, turn, author="ann", judgement="missed")
    assert state(db, turn) == "reviewed", "the same label again is no change"
    labels.put(db, turn, author="ann", judgement="wrong")
    assert state(db, turn) == "not reviewed"
    labels.undo(db, "ann")
    assert state(db, turn) == "reviewed"
    review(db, turn, "returned", "no")
    labels.put(db, turn, author="ann", judgement="missed")
    assert state(db, turn) == "not reviewed", "its author stands by it"


def test_a_review_is_undone_unless_the_label_changed(turn: Turn, db: orm.Session) -> None:
    labels.put(db, turn, author="ann", judgement="missed")
    review(db, turn, "reviewed")
    review(db, turn, "returned", "no")
    assert [one.id for one in labels.undo(db, "bob")] == [turn.id] and state(db, turn) == "reviewed"
    labels.put(db, turn, author="ann", judgement="wrong")
    labels.undo(db, "bob")
    assert state(db, turn) == "not reviewed" and labels.undo(db, "bob") == []


def test_a_returned_label_comes_back_to_its_author_and_first(turn: Turn, db: orm.Session) -> None:
    failed = complete(db, Spec("failed"))
    for position in (0, 1):
        labels.put(db, at(db, position), author="ann", judgement="missed")
    assert queue_progress.following(db, failed, "ann") is None
    review(db, at(db, 1), "returned", "no")
    back = queue_progress.following(db, failed, "ann", each=1)
    assert back is not None and back.position == 1 and queue_progress.comes_first(db, failed, "ann", back.id)
    labels.put(db, back, author="ann", judgement="wrong")
    assert queue_progress.following(db, failed, "ann") is None
    first = queue_progress.following(db, failed, "bob")
    assert first is not None and first.position == 0
    review(db, first, "reviewed")
    after = queue_progress.following(db, failed, "bob")
    assert after is not None and after.position == 1, "who reviewed a label gives none of their own"


def test_labels_to_review_are_others_and_open(turn: Turn, db: orm.Session) -> None:
    for author in ("ann", "bob", "cy"):
        labels.put(db, turn, author=author, judgement="missed")
    first = reviewing.following(db, "bob")
    assert first is not None and first.author == "ann"
    second = reviewing.following(db, "bob", after=first.id)
    assert second is not None and second.author == "cy"
    assert reviewing.following(db, "bob", after=second.id) is first
    assert reviewing.following(db, "bob", of="cy") is second
    review(db, turn, "reviewed")
    assert reviewing.counts(db, "bob") == {"not reviewed": 1, "reviewed": 1, "returned": 0}
    listed = {name: len(label_list.page(db, review=name)) for name in reviewing.STATES}
    assert listed == {"not reviewed": 2, "reviewed": 1, "returned": 0}


def test_exports_carry_the_state_and_import_takes_it_back(turn: Turn, db: orm.Session) -> None:
    labels.put(db, turn, author="ann", judgement="missed", cause="x")
    labels.put(db, at(db, 1), author="bob", judgement="unsure")
    review(db, turn, "returned", "which brace?")
    rows: list[dict[str, Any]] = [json.loads(json.dumps(row)) for row in exporting.label_rows(db)]
    assert rows[0]["review"] | {"at": None} == {"state": "returned", "by": "bob", "note": "which brace?", "at": None}
    assert rows[1]["review"]["state"] == "not reviewed"
    assert [event["action"] for event in rows[0]["history"]] == ["put", "returned"]
    assert [event["action"] for event in rows[1]["history"]] == ["put"], "another's review is none of bob's label"
    for model in (Label, LabelEvent):
        db.execute(sa.delete(model))
    db.commit()
    assert importing.take(db, enumerate(rows, 1)).new == 2
    assert [row["review"] for row in exporting.label_rows(db)] == [row["review"] for row in rows]
    assert [event.author for event in history.of_turn(db, turn.id)] == ["bob", "ann"]
    assert importing.take(db, enumerate(rows, 1)).same == 2
    review(db, turn, "reviewed")
    accepted = [json.loads(json.dumps(row)) for row in exporting.label_rows(db)]
    assert importing.take(db, enumerate(rows, 1)).same == 2 and state(db, turn) == "reviewed"
    labels.undo(db, "bob")
    assert importing.take(db, enumerate(accepted, 1)).changed == 1 and state(db, turn) == "reviewed"
    rows[0]["review"] = {"state": "perfect"}
    assert "one of" in importing.take(db, enumerate(rows, 1)).problems[0][1]


def test_a_review_stands_in_nobodys_way_when_causes_are_split(turn: Turn, db: orm.Session) -> None:
    labels.put(db, turn, author="ann", judgement="missed", cause="my cause")
    causes.merge(db, "my cause", "other", "cy")
    review(db, turn, "reviewed")
    assert causes.split(db, "my cause", "cy") == 1
