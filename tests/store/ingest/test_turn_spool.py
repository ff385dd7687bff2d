"""The spill: what goes in comes out, from memory and from a file, any number of times."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from webapp.dumps.records import Turn
from webapp.store.ingest import turn_spool
from webapp.store.ingest.turn_spool import Spill

FULL = Turn(
    7, "response", "a\0\ud800", "r", "a", "m", "p", 1, 2, 3, "x", "f", [{"a": [float("inf")]}], 4, 5,
    datetime(2020, 1, 1, tzinfo=UTC), 6, 7, 0.5, {"k": None, "big": 10**40}, ("k", 0),
)  # fmt: skip


@pytest.mark.parametrize(
    "count", [0, 1, turn_spool.MOST_TURNS - 1, turn_spool.MOST_TURNS, 2 * turn_spool.MOST_TURNS + 3]
)
def test_turns_come_out_as_often_as_asked(count: int) -> None:
    turns = [Turn(number, "event") for number in range(count)]
    with Spill() as held:
        for turn in turns:
            held.append(turn)
        assert list(held) == turns
        assert list(held) == turns


def test_every_field_survives_the_file() -> None:
    with Spill() as held:
        held.append(FULL)
        held._write()
        assert list(held) == [FULL]


def test_large_texts_go_to_the_file_early() -> None:
    with Spill() as held:
        for number in range(10):
            held.append(Turn(number, "response", "x" * (turn_spool.MOST_TEXT // 2)))
        assert len(held._held) < 3
        assert [turn.entry for turn in held] == list(range(10))


def test_cleared_it_begins_anew() -> None:
    with Spill() as held:
        for number in range(turn_spool.MOST_TURNS + 1):
            held.append(Turn(number, "event"))
        held.clear()
        held.append(FULL)
        assert list(held) == [FULL]


def test_two_readers_do_not_disturb_each_other() -> None:
    turns = [Turn(number, "event") for number in range(2 * turn_spool.MOST_TURNS + 1)]
    with Spill() as held:
        for turn in turns:
            held.append(turn)
        assert [one for one, _ in zip(held, held, strict=True)] == turns
