"""The cases of ../shared and our own in tests/cases/*.md: raw text in, the value that a careful person reads out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

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


def right(case: dict[str, Any]) -> bool:
    wanted = [*([] if case.get("nothing") else [case["expected"]]), *(case.get("accept") or [])]
    nothing = case.get("nothing") or case.get("or_nothing")
    return reads(case["text"], wanted) or bool(nothing and not parse(case["text"]).values)


@pytest.mark.parametrize(("name", "count"), [("extraction.jsonl", 114), ("extraction-2.jsonl", 125)])
def test_every_given_case(shared: Path, name: str, count: int) -> None:
    lines = (shared / "cases" / name).read_text("utf-8", "surrogatepass").rstrip("\n").split("\n")
    cases = [json.loads(line) for line in lines]
    assert len(cases) == count
    assert [case["id"] for case in cases if not right(case)] == []
