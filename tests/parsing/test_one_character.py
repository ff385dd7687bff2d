"""One structural character doubled or lost comes back where decoding proves it, and most often with its flag."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest

from webapp.parsing import parse
from webapp.parsing.one_character import one_character

DOCUMENT = {"tool": "run", "arguments": {"code": "a, b: {c}", "n": [1, 2, {"k": "v"}], "ok": True}, "tags": ["x", "y"]}
MARK = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]')


def mutations(kind: str, indent: int | None) -> list[str]:
    text = json.dumps(DOCUMENT, indent=indent)
    places = [at for match in MARK.finditer(text) for at in {match.start(), match.end() - 1}]
    return [text[:at] + text[at] * 2 * (kind == "doubled") + text[at + 1 :] for at in sorted(places)]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(("kind", "share"), [("doubled", 0.95), ("deleted", 0.85)])
def test_nearly_all_come_back_and_the_others_are_flagged(kind: str, share: float, indent: int | None) -> None:
    wrong = [raw for raw in mutations(kind, indent) if list(parse(raw).values) != [DOCUMENT]]
    assert len(wrong) <= (1 - share) * len(mutations(kind, indent))
    for raw in wrong:
        trace = parse(raw)
        assert trace.ambiguous or trace.truncated or not trace.values, raw


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ('{"name"": "x"}', {"name": "x"}),
        ('{""a"": ""x"", ""b"": """"}', {"a": "x", "b": ""}),
        ('{"x": "id": 1}}', {"x": {"id": 1}}),
        ('{"rows": [["a", 1], "b", 2]]}', {"rows": [["a", 1], ["b", 2]]}),
        ('{"a": ], "b": 1}', {"a": [], "b": 1}),
    ],
)
def test_a_slip_of_one_character(raw: str, value: Any) -> None:
    result = one_character(raw, 0, len(raw))
    assert result and (result.value, result.end) == (value, len(raw))


def test_what_is_broken_otherwise_is_left_to_the_machine() -> None:
    chance = random.Random(3)
    for _ in range(50):
        assert one_character('{"a": he said ' + "x" * chance.randint(1, 9) + ' and "b", c}', 0, 40) is None
