"""Findings in words: the name of a rule, the reason of a finding, and one sentence for a session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from webapp.findings.rule import helps, rules
from webapp.repair_names import defect


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


_SMALL = ("no", "one", "two", "three")


def number(count: int, noun: str, many: str | None = None) -> str:
    """`one tool call`, `4 tool calls`."""
    word = noun if count == 1 else many or noun + "s"
    return f"{_SMALL[count] if count < 2 else f'{count:,}'} {word}"


def defects(repairs: Iterable[str], most: int = 2) -> str:
    """What was wrong, by the repairs that mended it: `extra closing bracket and trailing comma`."""
    names = list(dict.fromkeys(map(defect, repairs)))
    return _joined(names[:most])


def _joined(names: Sequence[str]) -> str:
    return " and ".join(([", ".join(names[:-1])] if len(names) > 1 else []) + list(names[-1:]))


def names(values: Iterable[str], most: int = 3) -> str:
    """Names as code, joined with commas and an `and`."""
    return _joined([code(value) for value in list(values)[:most]])


def code(text: str, most: int = 60) -> str:
    """Text from a session as a code span: bounded, and without backticks of its own."""
    short = text if len(text) <= most else text[: most - 1] + "…"
    return f"`{short.replace('`', '') or ' '}`"
