"""The scoreboard's numbers equal a hand-counted fixture; policies are named, versions and disputes told apart."""

from __future__ import annotations

import time
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.made import Bring, entry, on_sqlite, windlass
from webapp.config import Settings
from webapp.gate.judging import judge
from webapp.parsing import parse, profiles
from webapp.store.compare import profile_results, scoreboard
from webapp.store.db.database import SECONDS_TO_WAIT, writing
from webapp.store.jobs import replays
from webapp.store.labels import causes, labels, settling
from webapp.store.labels.label_content import LabelContent
from webapp.store.models import Compared
from webapp.store.rates import rate
from webapp.store.sessions import deletion, sessions, turns

CALL = '```json\n{"tool": "t", "arguments": {}}\n```'
EXTRA = '```json\n{"tool": "t", "arguments": {}}}}\n```'
MEANT = {"tool": "t", "arguments": {}}
PLAIN = "Nothing to call here."
CODE = "x = {1: 2}"
TWO = '{"a": 1}\n{"a": 2}'
BARE = 'Here: {"a": 1} and that is all.'
RESPONSES = (CALL, EXTRA, PLAIN, CODE, TWO, BARE)


@pytest.fixture
def labelled(bring: Bring, db: orm.Session) -> orm.Session:
    """Six responses of two models, all labelled; a seventh whose two labels disagree, an eighth cut off."""
    entries = [entry(text, model="small" if index % 2 else "large") for index, text in enumerate(RESPONSES)]
    entries += [entry('{"a":', model="small"), entry('{"b":', model="small")]
    bring(windlass("s", entries), filename="s.json")
    say(db, 0, "right", "one", MEANT)
    say(db, 1, "missed", "one", MEANT, cause="extra-closing")
    say(db, 2, "right", "none")
    say(db, 3, "right", "none", cause="python-code-fp")
    say(db, 4, "right", "several", [{"a": 1}, {"a": 2}])
    say(db, 5, "right", "one", {"a": 1})
    say(db, 6, "missed", "one", {"a": 1})
    say(db, 6, "unsure", "unknown", author="Bo")
    say(db, 7, "unsure", "unknown")
    return db


def say(db: orm.Session, position: int, judgement: str, expects: str, expected: Any = None, **more: Any) -> None:
    turn = turns.find(db, sessions.find(db, "s"), position).turn
    values = {"author": "Ada", "judgement": judgement, "expects": expects, "expected": expected, **more}
    labels.put(db, turn, **values)


def counts(board: scoreboard.Scoreboard, name: str) -> dict[str, int]:
    return dict(board.scores[name].outcomes)


def test_the_numbers_equal_those_counted_by_hand(labelled: orm.Session) -> None:
    board = scoreboard.board(labelled)
    assert (board.compared, board.disputed, board.unknown, board.waiting) == (6, 1, 1, 0)
    assert counts(board, "fencepost") == {"right": 4, "nothing": 2}
    assert counts(board, "direct") == {"missed": 4, "nothing": 2}
    assert counts(board, "windlass-strict") == {"right": 1, "missed": 1, "nothing": 4}
    assert board.scores["windlass-strict"].policies == {"only tool calls are read": 2}
    assert counts(board, "master-before") == {"right": 2, "missed": 2, "nothing": 2}
    assert board.scores["master-before"].policies == {"of several values the first is given": 1}
    assert counts(board, "json-repair") == {"right": 3, "wrong": 1, "spurious": 1, "nothing": 1}
    precision, recall = board.scores["json-repair"].precision, board.scores["json-repair"].recall
    assert (precision.count, precision.of, recall.count, recall.of) == (3, 5, 3, 4)


@on_sqlite
def test_cells_are_lists_of_their_responses(labelled: orm.Session) -> None:
    board = scoreboard.board(labelled)
    for dimension in scoreboard.DIMENSIONS:
        for value, scores in board.by[dimension].items():
            for name in scores.keys() & {"fencepost", "windlass-strict", "master-before", "json-repair"}:
                for outcome, count in scores[name].outcomes.items():
                    found = scoreboard.lines(labelled, name, outcomes=(outcome,), dimension=(dimension, value))
                    assert len(found) == count
    assert board.by["model"]["small"]["fencepost"].total == 3
    assert board.by["cause"]["extra-closing"]["windlass-strict"].outcomes == {"missed": 1}


@on_sqlite
def test_what_one_profile_fixes_and_breaks_against_another(labelled: orm.Session) -> None:
    told = scoreboard.change(labelled, "windlass-strict", "fencepost")
    assert [line.labelled.turn.position for line in told["fixed"]] == [1] and told["broken"] == []
    back = scoreboard.change(labelled, "fencepost", "windlass-strict")
    assert [line.labelled.turn.position for line in back["broken"]] == [1] and back["same"] == 5


@on_sqlite
def test_what_is_kept_follows_the_labels(labelled: orm.Session) -> None:
    """A changed value, a removed label, a settled dispute, a renamed cause: each counts at the next look."""
    scoreboard.board(labelled)
    say(labelled, 0, "wrong", "one", {"tool": "other"})
    assert counts(scoreboard.board(labelled), "fencepost") == {"right": 3, "wrong": 1, "nothing": 2}
    turn = turns.find(labelled, sessions.find(labelled, "s"), 0).turn
    labels.undo(labelled, "Ada")
    assert counts(scoreboard.board(labelled), "fencepost") == {"right": 4, "nothing": 2}
    labels.remove(labelled, turn, author="Ada")
    assert scoreboard.board(labelled).compared == 5
    disputed = turns.find(labelled, sessions.find(labelled, "s"), 6).turn
    settling.settle(
        labelled, disputed, LabelContent("missed", "truncated", None, "one", {"a": 1}), author="Cem", why=None
    )
    causes.merge(labelled, "truncated", "cut short", "Cem")
    board = scoreboard.board(labelled)
    assert (board.compared, board.disputed, set(board.by["cause"])) == (
        *(6, 0),
        {"extra-closing", "python-code-fp", "cut short", "no cause given"},
    )


@on_sqlite
def test_one_response_is_compared_however_little_time_there_is(labelled: orm.Session) -> None:
    assert [scoreboard.board(labelled, seconds=0).waiting for _ in range(7)] == [5, 4, 3, 2, 1, 0, 0]
    assert scoreboard.board(labelled, seconds=0).compared == 6


@on_sqlite
def test_who_looks_does_not_wait_for_who_writes(labelled: orm.Session, engine: sa.Engine) -> None:
    with writing(engine):
        began = time.monotonic()
        board = scoreboard.board(labelled)
        assert time.monotonic() - began < SECONDS_TO_WAIT
    assert (board.compared, board.waiting) == (6, 0)
    assert labelled.scalar(sa.select(sa.func.count()).select_from(Compared)) == 0
    assert scoreboard.board(labelled).compared == labelled.scalar(sa.select(sa.func.count()).select_from(Compared)) == 6
    assert labelled.scalar(sa.text("PRAGMA busy_timeout")) == 1000 * SECONDS_TO_WAIT


@on_sqlite
def test_a_long_response_is_compared_once_its_parse_is_stored(
    bring: Bring, db: orm.Session, engine: sa.Engine, settings: Settings
) -> None:
    bring(windlass("s", [entry('{"a": "' + "x" * profile_results.LONGEST + '"}')]))
    say(db, 0, "right", "none")
    board = scoreboard.board(db)
    assert board.scores["direct"].total == 0 and board.too_long == len(profiles()) - 2
    replays.replay(engine, settings, "direct", session="s")
    assert scoreboard.board(db).scores["direct"].outcomes == {"spurious": 1}


@pytest.mark.parametrize(
    ("raw", "meant", "roots", "outcome", "policy"),
    [
        ('{"a": 1}', [{"a": 1.0}], "all", "right", None),
        ('{"a": 1}', [{"a": True}], "all", "wrong", None),
        ("none", [], "all", "nothing", None),
        ('{"a": 1}', [], "all", "spurious", None),
        ("none", [1], "all", "missed", None),
        ('{"a": 1}', [{"a": 1}, {"b": 2}], "all", "wrong", None),
        ('{"a": 1}', [{"a": 1}, {"b": 2}], "first", "right", "of several values the first is given"),
        ('{"b": 2}', [{"a": 1}, {"b": 2}], "best", "right", "of several values the best is given"),
        ('[{"a": 1}, {"b": 2}]', [{"a": 1}, {"b": 2}], "list", "right", "of several values a list is given"),
        ('{"tool": "t"}', [{"tool": "t"}, {"b": 2}], "tools", "right", "only tool calls are read"),
    ],
)
def test_a_value_is_compared_by_the_profiles_policy(
    raw: str, meant: list[Any], roots: str, outcome: str, policy: str | None
) -> None:
    judged = judge(parse(raw).values, meant, roots)
    assert (judged.outcome, judged.policy) == (outcome, policy)


def test_wilsons_interval_is_that_of_the_textbook() -> None:
    """Newcombe 1998, table I: 81 of 263 gives 0.2553 to 0.3662; 0 of 20 gives 0 to 0.1611."""
    low, high = rate("", 81, 263).interval or (0, 0)
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)
    assert [round(end, 4) for end in rate("", 0, 20).interval or ()] == [0.0, 0.1611]
    assert rate("", 0, 0).interval is None and rate("", 0, 0).share is None


@on_sqlite
def test_labels_of_a_deleted_session_are_not_counted(labelled: orm.Session) -> None:
    deletion.delete(labelled, [sessions.find(labelled, "s").key])
    assert scoreboard.board(labelled).compared == 0
