"""The runner shows turns to the rules of their kind, and its findings are bounded and may be asked for twice."""

from __future__ import annotations

from webapp.findings.rule import MOST_TURNS, RuleContext, TurnView
from webapp.findings.rulebook import RuleRunner, rules
from webapp.parsing import parse

RAW = '{"a": "cut'


def run(count: int) -> RuleRunner:
    runner = RuleRunner(RuleContext("fencepost"))
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
    runner = RuleRunner(RuleContext("fencepost"))
    runner.see(TurnView(0, 0, "made-up", raw=RAW))
    assert runner.findings() == []
