"""Nothing is left out in silence: what could be JSON and was not taken lies in an attempt that says why."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from tests.parsing import _cases
from tests.parsing.promises import PIECES
from webapp.parsing import Trace, parse

TOKEN = re.compile(r'[{\[]|"[^"\n]{1,100}"\s{0,20}:')


def unexplained(raw: str, trace: Trace) -> list[str]:
    """The brackets and keys outside of every attempt but the first, which is the whole text as it stands."""
    if trace.attempts[0].ok:
        return []
    covered = bytearray(len(raw) + 1)
    for attempt in trace.attempts[1:]:
        start, end = attempt.span
        covered[start:end] = b"\1" * (end - start)
    return [match[0] for match in TOKEN.finditer(raw) if not covered[match.start()]]


def texts(shared: Path) -> list[str]:
    return _cases.given(shared) + [case.raw for case in _cases.every()]


def test_every_case_explains_what_it_does_not_take(shared: Path) -> None:
    assert [ascii(raw) for raw in texts(shared) if unexplained(raw, parse(raw))] == []


@pytest.mark.parametrize("seed", range(2))
def test_mutations_explain_what_they_do_not_take(shared: Path, seed: int) -> None:
    short, chance = [raw for raw in texts(shared) if len(raw) < 3_000], random.Random(seed)
    for _ in range(1_000):
        raw = chance.choice(short)
        for _ in range(chance.randint(1, 3)):
            at = chance.randint(0, len(raw))
            raw = raw[:at] + chance.choice([*PIECES, "", ""]) + raw[at + chance.randint(0, 2) :]
        assert [ascii(text) for text in unexplained(raw, parse(raw))] == [], ascii(raw)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ('{"a": 1} and "b": 2', "a key"),
        ('see {"a": 1} here ] ok', "a closing bracket behind a value"),
        ('<think>{"a": 0}</think>{"a": 1}', "inside a thought"),
    ],
)
def test_what_lies_beside_a_value_is_named(raw: str, reason: str) -> None:
    trace = parse(raw)
    assert trace.values == ({"a": 1},)
    assert any(attempt.outcome == "rejected" and reason in (attempt.reason or "") for attempt in trace.attempts)
    assert trace.ambiguous == ("<think>" not in raw)
