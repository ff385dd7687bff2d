"""The spill: what goes in comes out, from memory and from a file, any number of times."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from webapp.dumps import sessions
from webapp.dumps.records import Turn
from webapp.dumps.sessions import Spill

FULL = Turn(
    7, "response", "a\0\ud800", "r", "a", "m", "p", 1, 2, 3, "x", "f", [{"a": [float("inf")]}], 4, 5,
    datetime(2020, 1, 1, tzinfo=UTC), 6, 7, 0.5, {"k": None, "big": 10**40}, ("k", 0),
)  # fmt: skip


@pytest.mark.parametrize("count", [0, 1, sessions.MOST_TURNS - 1, sessions.MOST_TURNS, 2 * sessions.MOST_TURNS + 3])
def test_turns_come_out_as_often_as_asked_and_cleared_it_begins_anew(count: int) -> None:
    turns = [replace(FULL, entry=number) for number in range(count)]
    with Spill() as held:
        for turn in turns:
            held.append(turn)
        assert [one for one, _ in zip(held, held, strict=True)] == turns, "two readers do not disturb each other"
        held.clear()
        held.append(FULL)
        assert list(held) == [FULL]


def test_large_texts_go_to_the_file_early() -> None:
    with Spill() as held:
        for number in range(10):
            held.append(Turn(number, "response", "x" * (sessions.MOST_TEXT // 2)))
        assert len(held._held) < 3
        assert [turn.entry for turn in held] == list(range(10))
