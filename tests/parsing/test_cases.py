"""Our own cases: each repair at the exact character, each response with its verdict, and no edit too many."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.parsing import _cases
from webapp.parsing import Attempt, parse
from webapp.parsing.decode import decode
from webapp.parsing.edit import apply
from webapp.parsing.machine.repair import repairs

RESPONSES = _cases.read(_cases.FOLDER / "responses.md")
REPAIRS = [case for case in _cases.every() if not case.name.startswith("responses-")]


@pytest.mark.parametrize("case", REPAIRS, ids=lambda case: case.name)
def test_a_repair_is_made_at_the_exact_place(case) -> None:
    trace = parse(case.raw)
    assert list(trace.values) == case.values
    assert _cases.edits_of(trace) + ["truncated"] * trace.truncated == case.made
    assert any(done.startswith(case.name.rpartition("-")[0] + "@") for done in case.done)


def test_every_repair_has_a_case() -> None:
    assert {case.name.rpartition("-")[0] for case in REPAIRS} == set(repairs())


@pytest.mark.parametrize("case", RESPONSES, ids=lambda case: case.name)
def test_a_response_is_read_as_a_careful_person_reads_it(case) -> None:
    trace = parse(case.raw)
    assert list(trace.values) == case.values
    assert [trace.verdict] + ["truncated"] * trace.truncated == case.done


def _spare(raw: str, attempt: Attempt) -> list[str]:
    """The edits without which the text decodes just as well.

    A backslash that could be an escape is meant as itself, and two quotes that SQL would escape stand for one.
    """
    found = []
    for index, edit in enumerate(attempt.edits):
        if (edit.repair, edit.new, edit.old) in {("bad_escape", "\\", ""), ("doubled_quote", "", "'")}:
            continue
        others = attempt.edits[:index] + attempt.edits[index + 1 :]
        if decode(apply(raw, attempt.span, others), finite=True).failure is None:
            found.append(edit.repair)
    return found


@pytest.mark.parametrize("case", REPAIRS + RESPONSES, ids=lambda case: case.name)
def test_no_edit_can_be_left_out(case) -> None:
    trace = parse(case.raw)
    assert [_spare(case.raw, trace.attempts[at]) for at in trace.chosen] == [[] for _ in trace.chosen]


def test_what_the_documentation_says_is_not_read_is_not_read_for_that_reason() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "parsing.md").read_text("utf-8")
    section = page.partition("## What is not read\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(.+)` \| (.+) \|$", section, re.MULTILINE)
    assert len(rows) > 10
    for raw, why in rows:
        trace = parse(raw)
        assert trace.values == (), raw
        assert any(why in (attempt.reason or "") for attempt in trace.attempts), raw


RUNS = 1_000


def test_a_bounded_run_finds_no_broken_promise() -> None:
    fuzzer = Path(__file__).with_name("fuzz.py")
    done = subprocess.run([sys.executable, fuzzer, "--runs", str(RUNS)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert f"Done {RUNS} " in done.stderr or f"{RUNS} texts" in done.stdout


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


def test_prose_is_none_and_says_so() -> None:
    trace = parse("The capital of France is Paris.")
    assert (trace.verdict, trace.attempts[0].outcome, trace.values) == ("none", "failed", ())


def test_rejected_candidates_beyond_the_limit_are_counted() -> None:
    trace = parse("{x} " * 3_000)
    assert trace.exhausted and len(trace.attempts) < 2_100
    assert "more candidates" in (trace.attempts[-1].reason or "")


def test_what_stands_behind_many_values_is_shown_and_behind_much_program_code_is_read() -> None:
    trace = parse('{"a": 1}\n' * 2_500 + "See [the docs].")
    assert trace.attempts[-1].span == (22_504, 22_505) and not trace.exhausted
    routes = "{ path: '/x', run: () => import('./x') },\n" * 6_000
    assert parse(f'Routes:\n{routes}\n\n```json\n{{"a": 1}}\n```').values == ({"a": 1},)


def test_values_beyond_the_limit_are_not_read_and_the_rest_is_named() -> None:
    raw = '```json\n{"a": 1}\n```\n' * 5_000
    trace = parse(raw)
    last = trace.attempts[-1]
    assert trace.exhausted and 3_900 < len(trace.values) < 4_100
    assert (last.outcome, last.span.end) == ("rejected", len(raw))
    assert "not looked at" in (last.reason or "")
