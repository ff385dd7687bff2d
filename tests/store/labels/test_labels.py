"""History, undo, conflicts, causes, settling, agreement, and labels that come back: nothing is lost without trace."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.jobs.workers import somebody_waits
from tests.store.made import BROKEN, Bring, entry, on_sqlite, windlass
from tests.until import until
from webapp.store import derive, rates
from webapp.store.exports import exporting
from webapp.store.labels import causes, importing, label_content, label_list, labels, settling
from webapp.store.labels.label_content import LabelContent
from webapp.store.labels.labels import Conflict
from webapp.store.models import FinalLabel, Label, LabelEvent, Turn
from webapp.store.sessions import sessions, turns

OTHER = '{"a": 1,}'


@pytest.fixture
def turn(bring: Bring, db: orm.Session) -> Turn:
    bring(windlass("s1", [entry(BROKEN), entry(OTHER), entry("{")]))
    return at(db, 0)


def at(db: orm.Session, position: int, ident: str = "s1") -> Turn:
    return turns.find(db, sessions.find(db, ident), position).turn


def said_now(db: orm.Session, turn: Turn, author: str = "ann") -> str | None:
    label = labels.of_author(db, turn, author)
    return None if label is None else label.judgement


def test_undo_goes_back_step_by_step_through_what_the_history_keeps(turn: Turn, db: orm.Session) -> None:
    labels.put(db, turn, author="ann", judgement="missed", note="first")
    labels.put(db, turn, author="ann", judgement="wrong")
    labels.remove(db, turn, author="ann")
    labels.put(db, turn, author="bob", judgement="right")
    events = label_content.of_turn(db, turn.id)
    assert [event.action for event in events] == ["put", "removed", "put", "put"]
    assert events[2].said["was"]["note"] == "first" and events[1].said["judgement"] == "wrong"
    for expected in ("wrong", "missed", None):
        assert [one.id for one in labels.undo(db, "ann")] == [turn.id]
        assert said_now(db, turn) == expected
    assert labels.undo(db, "ann") == []
    assert said_now(db, turn, "bob") == "right"


@on_sqlite
def test_a_group_is_undone_whole_and_its_members_say_where_they_come_from(turn: Turn, db: orm.Session) -> None:
    other = at(db, 1)
    labels.put(db, at(db, 2), author="ann", judgement="unsure")
    labels.put_all(
        db,
        [(turn, LabelContent("missed")), (other, LabelContent("missed")), (at(db, 2), LabelContent("missed"))],
        author="ann",
        like="s1 0",
    )
    assert (said_now(db, other), said_now(db, at(db, 2))) == ("missed", "unsure")
    assert label_content.of_turn(db, other.id)[0].said["like"] == "s1 0"
    assert len(labels.undo(db, "ann")) == 2
    assert (said_now(db, turn), said_now(db, other), said_now(db, at(db, 2))) == (None, None, "unsure")


def test_a_label_is_not_written_over_one_that_was_not_seen(turn: Turn, db: orm.Session) -> None:
    for _ in range(2):
        first = labels.put(db, turn, author="ann", judgement="missed", note="n", seen="")
    assert len(label_content.of_turn(db, turn.id)) == 1, "the same, sent twice, is no conflict"
    stamp = labels.stamp(first)
    with pytest.raises(Conflict) as conflict:
        labels.put(db, turn, author="ann", judgement="right", seen="")
    assert conflict.value.stored is not None and conflict.value.stored.judgement == "missed"
    labels.put(db, turn, author="ann", judgement="wrong", seen=stamp)
    for seen in (stamp, "nonsense"):
        with pytest.raises(Conflict):
            labels.put(db, turn, author="ann", judgement="right", seen=seen)
    assert said_now(db, turn) == "wrong"


def test_of_two_at_once_one_is_told(turn: Turn, engine: sa.Engine) -> None:
    told: list[str] = []

    def put(judgement: str) -> None:
        with orm.Session(engine) as own:
            try:
                labels.put(own, own.get_one(Turn, turn.id), author="ann", judgement=judgement, seen="")
                told.append("kept")
            except Conflict:
                told.append("told")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(put, ("right", "wrong")))
    assert sorted(told) == ["kept", "told"]


def bring_back(db: orm.Session, turn: Turn) -> None:
    """Import ann's label as somebody exported it yesterday."""
    text = (turn.raw_sha256 or b"").hex()
    importing.take(db, [(1, {"session": "s1", "raw_sha256": text, **NEWER, "made_at": "2999-01-01T00:00:00Z"})])


def make_index(db: orm.Session, _: Turn) -> None:
    derive.rebuild(db.connection())
    db.commit()


NEWER = {"judgement": "missed", "note": "imported", "author": "ann"}
WRITERS: dict[str, Callable[[orm.Session, Turn], object]] = {
    "remove": lambda db, turn: labels.remove(db, turn, author="ann"),
    "undo": lambda db, _: labels.undo(db, "ann"),
    "import": bring_back,
    "unsettle": lambda db, turn: settling.unsettle(db, turn, author="ann"),
    "index": make_index,
}


@pytest.mark.parametrize("name", WRITERS)
def test_no_two_writers_of_labels_wait_for_each_other(
    name: str, turn: Turn, engine: sa.Engine, db: orm.Session
) -> None:
    """PostgreSQL ends one of them with an error: who comes second took nothing yet that the first needs."""
    labels.put(db, turn, author="ann", judgement="missed", note="first")
    settling.settle(db, turn, LabelContent("missed"), author="ann", why="so it is")

    def write() -> None:
        with orm.Session(engine) as own:
            WRITERS[name](own, own.get_one(Turn, turn.id))

    with ThreadPoolExecutor(1) as pool, orm.Session(engine) as first:
        here = first.get_one(Turn, turn.id)
        labels.hold(first, here)
        second = pool.submit(write)
        until(lambda: engine.dialect.name == "sqlite" or somebody_waits(db))
        settling.overwrite(first, here, "ann", LabelContent("wrong", note="read it again"), datetime.now(UTC))
        with suppress(Conflict):  # who comes second may take it away before it is read again
            labels.put(first, here, author="ann", judgement="wrong", note="second")
        second.result()


def test_a_settled_label_keeps_up_with_merges_and_splits(turn: Turn, db: orm.Session) -> None:
    labels.put(db, turn, author="ann", judgement="missed", cause="trailing-comma")
    labels.put(db, turn, author="bob", judgement="wrong")
    settling.settle(db, turn, LabelContent("missed", "my cause"), author="cem", why="seen it")
    causes.merge(db, "my cause", "trailing-comma", "bob")
    final = settling.final(db, turn)
    assert final is not None and (final.content.cause, final.authors) == ("trailing-comma", ("cem",))
    event = label_content.of_turn(db, turn.id)[0]
    assert (event.action, event.said["was"]["cause"], event.said["by"]) == ("resettled", "my cause", "bob")
    causes.split(db, "my cause", "bob")
    final = settling.final(db, turn)
    assert final is not None and final.content.cause == "my cause"
    assert {label.cause for label in db.scalars(sa.select(Label))} == {"trailing-comma", None}


@on_sqlite
def test_what_is_undone_after_a_merge_has_the_cause_of_today(turn: Turn, db: orm.Session) -> None:
    labels.put(db, turn, author="ann", judgement="missed", cause="my cause")
    labels.put(db, turn, author="ann", judgement="wrong")
    causes.merge(db, "my cause", "trailing-comma", "bob")
    labels.undo(db, "ann")
    label = labels.of_author(db, turn, "ann")
    assert label is not None and (label.judgement, label.cause) == ("missed", "trailing-comma")


@on_sqlite
def test_causes_that_cannot_be_changed_so_are_refused(db: orm.Session) -> None:
    causes.merge(db, "comments", "notes in JSON", "ann")
    for act in (
        lambda: causes.merge(db, "no such", "ellipsis", "ann"),
        lambda: causes.merge(db, "notes in JSON", "comments", "ann"),
        lambda: causes.add(db, "ellipsis", None, "ann"),
        lambda: causes.add(db, " ", None, "ann"),
        lambda: causes.split(db, "ellipsis", "ann"),
    ):
        with pytest.raises(causes.BadCause):
            act()


def test_final_is_the_settled_the_agreed_or_the_only_label(turn: Turn, db: orm.Session) -> None:
    assert settling.final(db, turn) is None
    labels.put(db, turn, author="ann", judgement="missed", expects="one", expected={"a": 1, "b": 2.0})
    alone = settling.final(db, turn)
    assert alone is not None and (alone.how, alone.authors, alone.values) == ("alone", ("ann",), [{"a": 1, "b": 2.0}])
    labels.put(db, turn, author="bob", judgement="missed", expects="one", expected={"b": 2, "a": 1})
    agreed = settling.final(db, turn)
    assert agreed is not None and (agreed.how, agreed.authors) == ("agreed", ("ann", "bob"))
    labels.put(db, turn, author="bob", judgement="missed", expects="one", expected={"b": 2, "a": True})
    assert settling.final(db, turn) is None
    assert [one.turn.id for one in settling.disagreements(db)] == [turn.id]
    settling.settle(db, turn, LabelContent("spurious", expects="none"), author="cem", why="read the prompt")
    settled = settling.final(db, turn)
    assert settled is not None and (settled.how, settled.values, settled.content.note) == (
        "settled",
        [],
        "read the prompt",
    )
    assert settling.disagreements(db) == [] and len(settling.disagreements(db, settled=True)) == 1
    with pytest.raises(Conflict):
        settling.settle(db, turn, LabelContent("right"), author="ann", why=None, seen="")
    assert settling.unsettle(db, turn, author="cem") is True
    assert settling.final(db, turn) is None
    assert [event.action for event in label_content.of_turn(db, turn.id)[:2]] == ["unsettled", "settled"]


@on_sqlite
def test_every_final_label_is_gone_through(bring: Bring, db: orm.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling, "_AT_ONCE", 4)
    bring(windlass("many", [entry(f"{{{number}") for number in range(10)]))
    for number in range(10):
        labels.put(db, at(db, number, "many"), author="ann", judgement="missed", expects="unknown")
    found = [line for line in settling.every(db, with_history=True) if line.final is not None]
    assert [one.turn.position for one in found] == list(range(10))
    assert all(one.final is not None and one.final.values is None and len(one.history) == 1 for one in found)


@on_sqlite
def test_agreement_is_krippendorffs(turn: Turn, db: orm.Session) -> None:
    for position, (ann, bob) in enumerate((("missed", "missed"), ("wrong", "right"), ("right", "right"))):
        labels.put(db, at(db, position), author="ann", judgement=ann)
        labels.put(db, at(db, position), author="bob", judgement=bob)
    measured = settling.measured(db)
    assert measured["units"] == 3
    assert [(pair["both"], pair["judgement"]) for pair in measured["pairs"].values()] == [(3, 2)]
    alpha, low, high = measured["judgement"]
    assert alpha == pytest.approx(1 - 5 * 2 / (2 * (2 * 3 + 2 * 1 + 3 * 1)))
    assert low < alpha < high == 1
    assert rates.alpha([["right", "right"]]) is rates.alpha([["right", "right"]] * 9) is measured["cause"] is None
    assert rates.alpha([["a", "a"]] * 19 + [["a", "b"]]) == (0.0, -1.0, 1.0)  # one unit alone says that people differ
    alpha, low, high = rates.alpha([["a", "a"], ["b", "b"], ["a", "b"], ["b", "b"]] * 100) or (0.0, 0.0, 0.0)
    assert low < alpha < high < low + 0.2


def everything(db: orm.Session) -> list[dict[str, Any]]:
    db.expire_all()
    return json.loads(json.dumps(list(exporting.label_rows(db))))


def emptied(db: orm.Session) -> None:
    for model in (Label, LabelEvent, FinalLabel):
        db.execute(sa.delete(model))
    db.commit()


def test_import_of_export_is_what_was_exported(turn: Turn, db: orm.Session) -> None:
    labels.put(
        db,
        turn,
        author="ann",
        judgement="missed",
        cause="mine",
        note="n\n\ud800",
        expects="several",
        expected=[1, None],
        seconds=2.5,
    )
    labels.put(db, turn, author="ann", judgement="wrong", expects="one", expected=None)
    labels.put(db, turn, author="bob", judgement="right")
    settling.settle(db, turn, LabelContent("right"), author="cem", why="because")
    labels.put(db, at(db, 1), author="ann", judgement="unsure", expects="unknown")
    exported = everything(db)
    emptied(db)
    done = importing.take(db, enumerate(exported, 1))
    assert (done.new, done.changed, done.same, done.problems) == (3, 0, 0, [])
    assert everything(db) == exported
    again = importing.take(db, enumerate(exported, 1))
    assert (again.new, again.changed, again.same) == (0, 0, 3)
    assert everything(db) == exported
    assert sessions.find(db, "s1").label_count == 2


@on_sqlite
def test_what_cannot_be_placed_is_told_with_its_line(turn: Turn, db: orm.Session) -> None:
    labels.put(db, turn, author="ann", judgement="missed")
    (row,) = everything(db)
    bad: list[dict[str, Any]] = [
        row | {"raw_sha256": "00" * 32},
        row | {"raw_sha256": "x"},
        row | {"judgement": "so-so", "author": "x"},
        {key: value for key, value in row.items() if key != "author"},
        row | {"made_at": "yesterday", "author": "y"},
        row | {"session": "elsewhere", "author": "bob"},
    ]
    done = importing.take(db, enumerate(bad, 10))
    assert [line for line, _ in done.problems] == [10, 11, 12, 13, 14]
    assert "no stored response has this text" in done.problems[0][1] and "'author'" in done.problems[3][1]
    assert done.new == 1 and said_now(db, turn, "bob") == "missed"


def test_a_newer_row_changes_a_label_and_an_older_one_does_not(turn: Turn, db: orm.Session) -> None:
    labels.put(db, turn, author="ann", judgement="missed")
    (row,) = everything(db)
    newer = row | {"judgement": "right", "made_at": datetime(2100, 1, 1, tzinfo=UTC).isoformat(), "history": []}
    older = row | {"judgement": "spurious", "made_at": "2020-01-01T00:00:00+00:00"}
    assert importing.take(db, [(1, newer), (2, older)]).changed == 1
    assert said_now(db, turn) == "right"
    assert label_content.of_turn(db, turn.id)[0].action == "imported"


def test_values_are_read_in_order_and_errors_have_a_place() -> None:
    assert label_content.read(' {"a": 1}\n[2] null ') == [{"a": 1}, [2], None]
    assert label_content.read("  ") == []
    with pytest.raises(label_content.BadValue) as bad:
        label_content.read('{"a": 1,\n "b" 2}')
    assert (bad.value.line, bad.value.column, bad.value.at) == (2, 6, 14)
    with pytest.raises(label_content.BadValue):
        label_content.read("[" * 100_000)


@pytest.fixture
def answer(bring: Bring, db: orm.Session) -> Turn:
    bring(windlass("s1", [entry("do", "turn_input"), entry(BROKEN), entry(BROKEN, "turn_output"), entry("{")]))
    return turns.find(db, sessions.find(db, "s1"), 1).turn


def label_count(db: orm.Session) -> int:
    db.expire_all()
    return sessions.find(db, "s1").label_count


@on_sqlite
def test_a_bad_label_is_refused_in_words(answer: Turn, db: orm.Session) -> None:
    for values, message in [
        ({"judgement": ""}, "choose a judgement: right, wrong, missed, spurious, unsure"),
        ({"judgement": "bad"}, "a judgement is one of right, wrong, missed, spurious, unsure, not 'bad'"),
        ({"author": "  "}, "an author is a name"),
        ({"author": "x" * 201}, "an author is a name"),
        ({"cause": "x" * 129}, "a cause is a word"),
        ({"cause": "a\nb"}, "a cause is a word"),
        ({"cause": "\ud800"}, "a cause is a word"),
        ({"note": "x" * 20_001}, "this one has 20001"),
        ({"expected": "x" * 2_000_000, "has_expected": True}, "at most 1048576 are kept"),
        ({"expected": {1, 2}, "has_expected": True}, "is not JSON"),
    ]:
        with pytest.raises(label_content.BadLabel, match=message):
            labels.put(db, answer, **({"author": "ann", "judgement": "missed"} | values))
        assert label_list.page(db) == ([], None)


@on_sqlite
def test_only_responses_are_labelled(answer: Turn, db: orm.Session) -> None:
    prompt = turns.find(db, sessions.find(db, "s1"), 0).turn
    with pytest.raises(label_content.BadLabel, match="a prompt that no model wrote"):
        labels.put(db, prompt, author="ann", judgement="missed")
    twin = turns.find(db, sessions.find(db, "s1"), 1).duplicates[0]
    with pytest.raises(label_content.BadLabel, match="merged into turn 1"):
        labels.put(db, twin, author="ann", judgement="missed")


def test_labels_of_several_turns_at_once_are_all_counted(bring: Bring, engine: sa.Engine, db: orm.Session) -> None:
    count, rounds = 4, 5
    names = [f"s{number}" for number in range(rounds)]
    for name in names:
        bring(windlass(name, [entry(f"{name} {number}") for number in range(count)]))
    together = threading.Barrier(count)

    def label_one_of_each(position: int) -> None:
        for name in names:
            with orm.Session(engine) as own:
                turn = turns.find(own, sessions.find(own, name), position).turn
                together.wait(120)
                labels.put(own, turn, author="ann", judgement="right")

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(label_one_of_each, range(count)))
    assert [sessions.find(db, name).label_count for name in names] == [count] * rounds
