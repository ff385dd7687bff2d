"""Labels: put, changed, removed, listed; refused in words."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.made import BROKEN, Bring, entry, on_sqlite, windlass
from webapp.store.labels import label_content, label_list, labels
from webapp.store.models import Turn
from webapp.store.sessions import sessions, turns


@pytest.fixture
def turn(bring: Bring, db: orm.Session) -> Turn:
    bring(windlass("s1", [entry("do", "turn_input"), entry(BROKEN), entry(BROKEN, "turn_output"), entry("{")]))
    return turns.find(db, sessions.find(db, "s1"), 1).turn


def label_count(db: orm.Session) -> int:
    db.expire_all()
    return sessions.find(db, "s1").label_count


@on_sqlite
def test_a_bad_label_is_refused_in_words(turn: Turn, db: orm.Session) -> None:
    for values, message in [
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
            labels.put(db, turn, **({"author": "ann", "judgement": "missed"} | values))
        assert label_list.page(db) == []


@on_sqlite
def test_only_responses_are_labelled(turn: Turn, db: orm.Session) -> None:
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
