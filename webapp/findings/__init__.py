"""What a session's turns say together: rules that see every turn once and name the turns that show it."""

import webapp.findings.rules  # noqa: F401 - first, since importing this folder later would hide the function `rules`
from webapp.findings.base import About, Finding, Rule, Seen
from webapp.findings.engine import Notice, about_rule, helps, reason, rules, sentence

__all__ = ["About", "Finding", "Notice", "Rule", "Seen", "about_rule", "helps", "reason", "rules", "sentence"]
