"""Each rule finds what its cases say, with the turns as evidence, and nothing where they say so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.findings.made import Case, cases, notice
from webapp.findings import helps, reason, rules

FOLDER = Path(__file__).parent / "cases"
CASES = [case for path in sorted(FOLDER.glob("*.md")) for case in cases(path)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule}: {case.title}")
def test_case(case: Case) -> None:
    found = [finding for finding in notice(case.seen, case.home) if finding.rule == case.rule]
    assert [finding.turns for finding in found] == ([] if case.turns is None else [case.turns])
    if case.says is not None:
        assert [reason(finding) for finding in found] == [case.says]


@pytest.mark.parametrize("name", rules())
def test_every_rule_has_a_help_a_case_and_a_refusal(name: str) -> None:
    assert helps()[name].endswith(".")
    own = [case for case in CASES if case.rule == name]
    assert any(case.turns for case in own)
    assert any(case.turns is None for case in own)
