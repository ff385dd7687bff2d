"""What a session's turns say together: rules that see every turn once and name the turns that show it."""

import webapp.findings.rules  # noqa: F401 - first, since importing this folder later would hide the function `rules`
from webapp.findings.own import BadFindings
from webapp.findings.rule import Observer, Rule, RuleContext, RuleFinding, RuleRunner, helps, rules
from webapp.findings.sentences import about_rule, reason, sentence
from webapp.findings.turn_view import TurnView

__all__ = [
    "BadFindings",
    "Observer",
    "Rule",
    "RuleContext",
    "RuleFinding",
    "RuleRunner",
    "TurnView",
    "about_rule",
    "helps",
    "reason",
    "rules",
    "sentence",
]
