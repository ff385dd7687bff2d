"""One structural character doubled or lost comes back where decoding proves it, and most often with its flag."""

from __future__ import annotations

import ast
import json
import random
import re
from typing import Any

import pytest

from webapp.parsing import parse
from webapp.parsing.mended import one_character

DOCUMENT = {"tool": "run", "arguments": {"code": "a, b: {c}", "n": [1, 2, {"k": "v"}], "ok": True}, "tags": ["x", "y"]}
MARK = re.compile(r"""(["'])(?:(?!\1)[^\\]|\\.)*\1|[{}\[\],:]""")
STYLES = {
    "json": json.dumps(DOCUMENT),
    "lines": json.dumps(DOCUMENT, indent=2),
    "python": repr(DOCUMENT),
    "python lines": json.dumps(DOCUMENT, indent=2).replace('"', "'").replace("true", "True"),
}
KINDS = {"doubled": 0.95, "deleted": 0.85, **dict.fromkeys("*`;-_~|,:", 0.94)}
"""What is done at each structural character, a mark standing for one put in beside it, and how many come back."""


def mutations(text: str, kind: str) -> list[str]:
    """The texts that are neither JSON nor Python, and in which no mark may be of a number."""
    made: list[str] = []
    for match in MARK.finditer(text):
        last = match.end() - 1
        if len(kind) == 1:
            made += [text[:at] + kind + text[at:] for at in (match.start(), match.end())]
        else:
            made += [text[:at] + text[at] * 2 * (kind == "doubled") + text[at + 1 :] for at in {match.start(), last}]
    return [raw for raw in made if not is_python(raw) and not re.search(r"[~_;|-]\d", raw)]


def is_python(raw: str) -> bool:
    try:
        ast.literal_eval(raw.replace("true", "True"))
    except (SyntaxError, ValueError):
        return False
    return True


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("kind", KINDS)
def test_nearly_all_come_back_and_the_others_are_flagged(kind: str, style: str) -> None:
    texts = mutations(STYLES[style], kind)
    wrong = [raw for raw in texts if list(parse(raw).values) != [DOCUMENT]]
    assert len(wrong) <= (1 - KINDS[kind]) * len(texts), wrong
    for raw in wrong:
        trace = parse(raw)
        assert trace.ambiguous or trace.truncated or not trace.values, raw


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ('{"name"": "x"}', {"name": "x"}),
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
