"""What a session's turns say together: rules that see every turn once and name the turns that show it."""

from webapp.findings.base import About, Finding, Rule, Seen
from webapp.findings.engine import Notice, about_rule, helps, reason, rules, sentence

__all__ = ["About", "Finding", "Notice", "Rule", "Seen", "about_rule", "helps", "reason", "rules", "sentence"]
