"""Findings in words: the name of a rule, the reason of a finding, and one sentence for a session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from webapp.findings.runner import helps, rules


class FindingLike(Protocol):
    """A finding, fresh or stored."""

    @property
    def rule(self) -> str: ...
    @property
    def detail(self) -> Mapping[str, Any]: ...


def about_rule(name: str) -> tuple[str, str]:
    """A rule's name in words and what it notices; a rule that is no longer there has only its name."""
    return name.replace("_", " "), helps().get(name, "")


def reason(finding: FindingLike) -> str:
    """Why this was found, as a sentence; code is in backticks as in Markdown."""
    return _as_sentence(_clause(finding))


def sentence(findings: Iterable[FindingLike], most: int = 3) -> str:
    """What went wrong, in one sentence made of the `most` weightiest findings; "" where there are none.

    A rule that found several things speaks once.
    """
    first: dict[str, FindingLike] = {}
    for finding in findings:
        first.setdefault(finding.rule, finding)
    weightiest = [(rule, first[name]) for name, rule in rules().items() if name in first]
    clauses = [_clause(finding) for rule, finding in weightiest if rule.severity != "low" or len(weightiest) == 1]
    return _as_sentence("; ".join(clauses[:most])) if clauses else ""


def _clause(finding: FindingLike) -> str:
    rule = rules().get(finding.rule)
    return rule.says(dict(finding.detail)) if rule else finding.rule.replace("_", " ")


def _as_sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith("?") else ".")
