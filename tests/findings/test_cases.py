"""Each rule finds what its cases say, with the turns as evidence, and nothing where they say so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.findings.session_cases import Case, cases
from webapp.findings.rulebook import helps, reason, rules

FOLDER = Path(__file__).parent / "cases"
CASES = [case for path in sorted(FOLDER.glob("*.md")) for case in cases(path)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule}: {case.title}")
def test_case(case: Case) -> None:
    findings = case.findings()
    assert [finding.turns for finding in findings] == ([] if case.positions is None else [case.positions])
    if case.says is not None:
        assert [reason(finding) for finding in findings] == [case.says]


@pytest.mark.parametrize("name", rules())
def test_every_rule_has_a_help_a_case_and_a_refusal(name: str) -> None:
    assert helps()[name].endswith(".")
    own = [case for case in CASES if case.rule == name]
    assert any(case.positions for case in own)
    assert any(case.positions is None for case in own)


def test_a_response_without_a_text_is_empty(tmp_path: Path) -> None:
    (tmp_path / "made_up.md").write_text("## title\nfound: nothing\n\n--- response\n--- tool_call tool_calls=say\n")
    ((response, call),) = [case.turns for case in cases(tmp_path / "made_up.md")]
    assert (response.raw, call.raw) == ("", None)
