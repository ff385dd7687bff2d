"""A session's sentence is made of its weightiest findings."""

from __future__ import annotations

from webapp.findings.rule import RuleFinding
from webapp.findings.rulebook import about_rule, reason, sentence

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
