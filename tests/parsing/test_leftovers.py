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


@pytest.mark.parametrize(
    "raw",
    [
        '{"a": {"b": 1}}, "c": 2}',
        '{"a": {"b": {"c": 1}}, "d": 2}}',
        '{"name": "[1]", "id": [[], "n": 1}',
        '1. {"q": 1}\n2. {"q',
        '{"a": 1 NOTE: rounded\n, "b": 2}',
        '{"a": {"f"}}',
        '{"a": "41, "b": 1}',
        '{"a": - 2, "b": 1}',
        '{"a": 1 and "b": 2}',
        "[{id': 1, 'ok': True}, {'id': 2, 'ok': False}]",
        "('a': 'x', 'b': {'c': [1]}}",
        '{"items", [["a", 1], ["b", 2]], ""total": 2.5}',
        "{'items': [['a, 1], ['b', 2]], 'next':: None}",
        "{'a': 2.5. ''next': None}",
        '{"a": ["x", "f("b", "c")"]}',
        "{'a': ['x', '5', wide']}",
        "{'a': [\n'x',\n'say 'yes', then go'\n]}",
        """[{'id': 1, "ok': True, 'note': "it's fine"}]""",
        '{\n  "a": {\n    "b": 1\n  \n  "c": true\n}',
    ],
)
def test_a_value_that_could_be_read_otherwise_says_so(raw: str) -> None:
    assert parse(raw).ambiguous


@pytest.mark.parametrize("raw", ['{"tool": "t", "arguments": {"a": 1}}}', '{"a": 1, "b": 2,}', '[{"a": 1}, {"a": 2}'])
def test_a_plain_repair_does_not(raw: str) -> None:
    assert not parse(raw).ambiguous
