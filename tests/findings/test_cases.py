"""Each rule finds what its cases say, with the turns as evidence, and nothing where they say so."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import twins
from tests.findings.session_cases import Case, cases
from webapp.findings.rule import MOST_TURNS, RuleFinding, TurnView, code, defects, names, number
from webapp.findings.rulebook import RuleRunner, about_rule, helps, reason, rules, sentence
from webapp.findings.tool_calls import calls, is_call, looks_like_call
from webapp.parsing import parse

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


@pytest.fixture(scope="module")
def pool(shared: Path) -> list[twins.Session]:
    return twins.clean(shared / "corpus", most=12)


@pytest.mark.parametrize("rule", twins.FAULTS)
def test_a_rule_speaks_of_its_fault_and_not_of_its_twin(rule: str, pool: list[twins.Session]) -> None:
    precision, recall = twins.measured(rule, pool, 50)
    assert precision >= 0.99 and recall >= 0.95, (precision, recall)


CUT = RuleFinding("cut_response", "medium", (1,), {"said": 1, "inside": 0, "turns": 1})
STORM = RuleFinding("validation_storm", "high", (0,), {"errors": 3, "logged": 3, "rows": 1, "longest": 3, "turns": 1})
AGAIN = RuleFinding("same_failure_again", "low", (0,), {"who": "m", "how": "a cut end", "times": 2, "turns": 2})
GONE = RuleFinding("no_longer_there", "high", (0,), {})


def test_the_weightiest_come_first_and_a_pattern_only_alone() -> None:
    expected = "3 validation errors in a row; one response was cut off at the token limit."
    assert sentence([CUT, AGAIN, STORM]) == expected
    assert sentence([AGAIN]) == "`m` failed 2 times in the same way: a cut end."
    assert sentence([CUT, STORM], most=1) == "3 validation errors in a row."


def test_a_rule_that_found_several_things_speaks_once() -> None:
    assert sentence([CUT, CUT]) == "One response was cut off at the token limit."


def test_a_rule_that_is_no_longer_there_has_its_name_and_no_sentence() -> None:
    assert (sentence([GONE]), reason(GONE)) == ("", "No longer there.")
    assert about_rule("no_longer_there") == ("no longer there", "")
    assert about_rule("cut_response")[1].startswith("A response was cut off")


def test_numbers_agree_with_their_noun() -> None:
    assert [number(count, "reply", "replies") for count in (0, 1, 2, 1200)] == [
        "no replies",
        "one reply",
        "2 replies",
        "1,200 replies",
    ]


def test_defects_are_said_once_and_those_without_a_word_by_their_name() -> None:
    assert defects(["extra_closer", "extra_closer", "full_width"]) == "extra closing bracket and full width"
    assert defects([]) == ""


def test_names_are_joined_and_bounded() -> None:
    assert names("abcd") == "`a`, `b` and `c`"
    assert names(["a"]) == "`a`"


def test_code_is_bounded_and_cannot_end_its_span() -> None:
    assert code("a`b") == "`ab`" and code("`") == "` `"
    assert code("x" * 100, 10) == "`" + "x" * 9 + "…`"


@pytest.mark.parametrize(
    ("value", "home", "expected"),
    [
        ({"tool": "say", "arguments": {}}, "direct", True),
        ({"name": "say", "parameters": {}}, "direct", True),
        ({"function": {"name": "say", "arguments": "{}"}}, "direct", True),
        ({"tool": "say"}, "windlass-strict", True),
        ({"tool": "say"}, "direct", False),
        ({"function": {"name": "say"}}, "direct", False),
        (["say"], "direct", False),
    ],
)
def test_a_call_is_a_name_and_its_arguments(value: object, home: str, expected: bool) -> None:
    assert is_call(value, home) is expected


def test_calls_in_lists_and_under_tool_calls_count() -> None:
    call = {"name": "say", "arguments": {}}
    assert len(calls([call, [call, 1], {"tool_calls": [call, call]}], "direct")) == 4


def test_a_text_that_nobody_can_decode_may_hold_a_call() -> None:
    assert looks_like_call('{"tool": "say", "arguments": {"text": "un"escaped')
    assert not looks_like_call('{"tool": "say"}')


RAW = '{"a": "cut'


def run(count: int) -> RuleRunner:
    runner = RuleRunner("fencepost")
    trace = parse(RAW)
    for position in range(count):
        runner.see(TurnView(position, position, "response", raw=RAW, home=trace, ours=trace))
    return runner


def test_rules_come_in_the_order_in_which_a_sentence_speaks_of_them() -> None:
    ranks = [rule.rank for rule in rules().values()]
    assert ranks == sorted(ranks) and len(set(ranks)) == len(ranks)


def test_a_finding_keeps_the_first_turns_and_counts_them_all() -> None:
    (finding,) = (finding for finding in run(MOST_TURNS + 50).findings() if finding.rule == "cut_response")
    assert finding.turns == tuple(range(MOST_TURNS))
    assert finding.count == finding.detail["turns"] == MOST_TURNS + 50


def test_a_kind_that_no_rule_looks_at_is_nothing() -> None:
    runner = RuleRunner("fencepost")
    runner.see(TurnView(0, 0, "made-up", raw=RAW))
    assert runner.findings() == []
