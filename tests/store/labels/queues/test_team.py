"""Assignment: a queue's responses go to names, can be given back, come first, and are counted by person."""

from __future__ import annotations

import pytest
from sqlalchemy import orm

from tests.store.made import BROKEN, Bring, complete, entry, windlass
from webapp.store.failures import groups
from webapp.store.labels import history, labels, reviewing
from webapp.store.labels.label_content import BadLabel
from webapp.store.labels.queues import queue_progress, team
from webapp.store.labels.queues.queue_spec import Spec, spec_of
from webapp.store.models import LabelQueue, Turn
from webapp.store.sessions import deletion, sessions, turns
from webapp.store.sessions.filters import BadFilter, Filters

WORDS = ("one", "two", "three", "four")


@pytest.fixture
def failed(bring: Bring, db: orm.Session) -> LabelQueue:
    bring(windlass("s1", [entry(f'```json\n{{"{word}": 1}}}}}}\n```') for word in WORDS]))
    return complete(db, Spec("failed"))


def at(db: orm.Session, position: int) -> Turn:
    return turns.find(db, sessions.find(db, "s1"), position).turn


def who(db: orm.Session, position: int) -> list[str]:
    return [one.assignee for one in team.of_turn(db, at(db, position).id)]


def following(db: orm.Session, of: LabelQueue, author: str, turn: Turn | None = None, **more: bool) -> int | None:
    found = queue_progress.following(db, of, author, None if turn is None else turn.id, **more)
    return None if found is None else found.position


def test_responses_are_assigned_in_turn_and_undone_whole(failed: LabelQueue, db: orm.Session) -> None:
    assert team.assign(db, failed, ["ann", " bob "], author="cy") == 4
    assert [who(db, position) for position in range(4)] == [["ann"], ["bob"], ["ann"], ["bob"]]
    assert team.assign(db, failed, ["ann", "bob"], author="cy") == 0
    assert team.assign(db, failed, ["ann"], author="cy") == 2
    assert who(db, 1) == ["ann"]
    (event, _) = history.of_turn(db, at(db, 1).id)
    assert (event.author, event.action, event.said["to"], event.said["was"]) == ("cy", "assigned", ["ann"], ["bob"])
    assert {one.position for one in labels.undo(db, "cy")} == {1, 3} and who(db, 1) == ["bob"]
    assert len(labels.undo(db, "cy")) == 4 and who(db, 0) == [] and labels.undo(db, "cy") == []
    with pytest.raises(BadLabel):
        team.assign(db, failed, ["a\nb"], author="cy")


def test_a_response_that_gets_two_labels_goes_to_two_people(failed: LabelQueue, db: orm.Session) -> None:
    team.assign(db, failed, ["ann", "bob", "cy"], author="ann", each=2)
    assert [who(db, position) for position in range(3)] == [["ann", "bob"], ["ann", "cy"], ["bob", "cy"]]


def test_what_is_assigned_comes_first_and_nobody_else_is_asked(failed: LabelQueue, db: orm.Session) -> None:
    team.restore(db, {at(db, 2).id: ["ann"], at(db, 3).id: ["ann"], at(db, 0).id: ["bob"]}, "cy")
    db.commit()
    assert following(db, failed, "ann") == 2
    assert [following(db, failed, "ann", at(db, position)) for position in (2, 3, 1)] == [3, 1, 2]
    assert following(db, failed, "bob") == 0 and following(db, failed, "bob", at(db, 0)) == 1
    assert following(db, failed, "cy") == 1 and following(db, failed, "cy", at(db, 1)) is None


def test_progress_counts_by_person_what_is_assigned_and_done(failed: LabelQueue, db: orm.Session) -> None:
    team.assign(db, failed, ["ann", "bob"], author="cy")
    label = labels.put(db, at(db, 0), author="ann", judgement="missed")
    labels.put(db, at(db, 1), author="ann", judgement="missed")
    progress = queue_progress.progress(db, failed, "ann")
    assert progress.parts == {"ann": (2, 1), "bob": (2, 0)} and progress.people == {"ann": 2}
    reviewing.put(db, label, state="returned", author="bob", note="why?", seen=labels.stamp(label))
    progress = queue_progress.progress(db, failed, "ann")
    assert progress.parts["ann"] == (2, 0) and progress.returned == 1


def test_a_queue_holds_what_is_assigned_to_a_name_and_follows_it(failed: LabelQueue, db: orm.Session) -> None:
    spec = spec_of({"assigned": "ann"})
    assert spec.query() == {"queue": "assigned", "assigned": "ann"} and spec.words == "assigned to ann"
    assert queue_progress.progress(db, complete(db, spec), "ann").total == 0
    team.assign(db, failed, ["ann", "bob"], author="cy")
    theirs = complete(db, spec)
    assert queue_progress.progress(db, theirs, "ann").total == 2 and following(db, theirs, "ann") == 0
    with pytest.raises(BadFilter, match="a name"):
        spec_of({"queue": "assigned"})


def test_a_failure_group_is_a_queue(bring: Bring, db: orm.Session) -> None:
    bring(windlass("s1", [entry(BROKEN), entry(BROKEN + " "), entry("[1, 2")]))
    key = max(groups.page(db, Filters()).groups, key=lambda group: group.count).key
    of_group = complete(db, spec_of({"queue": "group", "group": key}))
    assert queue_progress.progress(db, of_group, "ann").total == 2
    assert team.assign(db, of_group, ["ann"], author="cy") == 2


def test_an_assignment_outlives_its_queue_and_holds_no_session_back(
    failed: LabelQueue, db: orm.Session, bring: Bring
) -> None:
    team.assign(db, failed, ["ann"], author="cy")
    db.delete(failed)
    db.commit()
    assert who(db, 0) == ["ann"]
    session = sessions.find(db, "s1")
    assert not deletion._labelled(db.connection(), session.id)
    labels.put(db, at(db, 0), author="ann", judgement="missed")
    assert deletion._labelled(db.connection(), session.id)
