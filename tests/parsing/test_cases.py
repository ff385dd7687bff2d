"""Our own cases: each repair at the exact character, each response with its verdict, and no edit too many."""

from __future__ import annotations

import re
from pathlib import Path

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
