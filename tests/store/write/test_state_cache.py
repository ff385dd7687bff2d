"""Growing again folds what is new and nothing else, and comes to what growing at once comes to."""

from __future__ import annotations

import random
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.made import BROKEN, CALL, Bring, entry, windlass
from tests.store.write.test_growth import facts
from webapp.config import Settings
from webapp.store.homes import changes
from webapp.store.jobs import runs
from webapp.store.labels import labels
from webapp.store.sessions import sessions, turns
from webapp.store.write import finding_runner, stored_turns
from webapp.store.write.home import Home
from webapp.store.write.session_state import SessionState
from webapp.store.write.state_cache import GrownState, StateCache

KINDS = [
    entry(BROKEN, model="m1", phase_name="plan"),
    entry("wrong", "validation_error"),
    entry(CALL, model="m2", timestamp=100.0),
    entry("do it", "turn_input"),
    entry('{"a": 1,}', role="coder"),
    entry(BROKEN, "turn_output", model="m2"),
]


def entries(seed: int, count: int) -> list[dict[str, Any]]:
    choose = random.Random(seed)
    return [dict(choose.choice(KINDS)) for _ in range(count)]


def findings(db: orm.Session, name: str) -> list[dict[str, Any]]:
    return [finding_runner.as_dict(finding) for finding in finding_runner.findings_of(db, sessions.find(db, name).id)]


def same_as_at_once(db: orm.Session, bring: Bring, name: str, every: list[Any]) -> bool:
    bring(windlass(f"{name} at once", every))
    db.rollback()
    one, other = sessions.find(db, name), sessions.find(db, f"{name} at once")
    assert facts(one) == facts(other)
    assert findings(db, name) == findings(db, f"{name} at once")
    return True


@pytest.fixture
def folds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sessions that are folded from the start."""
    folded: list[int] = []
    fold = stored_turns.fold

    def counted(connection: sa.Connection, session_id: int, *rest: Any) -> SessionState:
        folded.append(session_id)
        return fold(connection, session_id, *rest)

    monkeypatch.setattr(stored_turns, "fold", counted)
    return folded


@pytest.mark.parametrize("seed", range(4))
def test_grown_in_parts_it_is_as_at_once(bring: Bring, db: orm.Session, folds: list[int], seed: int) -> None:
    every = entries(seed, 40)
    cuts = sorted(random.Random(seed).sample(range(1, 40), 6))
    for cut in [*cuts, 40]:
        bring(windlass("s", every[:cut]))
    assert len(folds) == 1  # the first growth; what came whole left no state in this process
    assert same_as_at_once(db, bring, "s", every)


def test_what_others_changed_meanwhile_is_read_from_the_start(
    bring: Bring, db: orm.Session, settings: Settings, engine: sa.Engine, folds: list[int]
) -> None:
    every = entries(7, 12)
    for cut in (4, 6):
        bring(windlass("s", every[:cut]))
    runs.replay(engine, settings, "four-tier")
    bring(windlass("s", every[:8]))
    assert len(folds) == 2
    number = sessions.find(db, "s").id
    db.rollback()
    changes.work(engine, changes.begin(engine, [number], Home("fencepost", "told")))
    folds.clear()
    bring(windlass("s", every[:9]))
    assert len(folds) == 1
    assert sessions.find(db, "s").home_profile == "fencepost"


def test_a_label_between_two_growths_stays_counted(bring: Bring, db: orm.Session) -> None:
    every = entries(3, 8)
    every[0] = entry(BROKEN)
    for cut in (2, 4):
        bring(windlass("s", every[:cut]))
    labels.put(db, turns.find(db, sessions.find(db, "s"), 0).turn, author="Ada", judgement="wrong")
    bring(windlass("s", every))
    db.expire_all()
    assert sessions.find(db, "s").label_count == 1


def test_what_is_not_committed_is_not_held(
    bring: Bring, db: orm.Session, folds: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    every = entries(5, 20)
    for cut in (5, 8):
        bring(windlass("s", every[:cut]))
    with monkeypatch.context() as patch:
        patch.setattr("webapp.store.write.derived.store", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            bring(windlass("s", every[:12]))
    folds.clear()
    bring(windlass("s", every))
    assert len(folds) == 1
    assert same_as_at_once(db, bring, "s", every)


def test_few_are_held_and_the_oldest_go() -> None:
    states: StateCache[GrownState] = StateCache(most=100_000)
    for number in (1, 2, 3):
        states.put(GrownState(10, SessionState.of_nothing(number, "direct")))
    assert states.take(1, 10) is None
    assert states.take(2, 11) is None, "it changed since"
    assert states.take(3, 10) is not None
    assert states.take(3, 10) is None, "who takes it has it alone"
