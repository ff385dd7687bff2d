"""Every rule of findings by name, Fencepost's and one's own: how they see a session, and what they say of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Protocol

from webapp import plugins
from webapp.findings import own
from webapp.findings.rule import Observer, Rule, RuleContext, RuleFinding, TurnView
from webapp.findings.tool_calls import CallTracker


@cache
def rules() -> dict[str, Rule]:
    """Every rule by name, one's own last, in the order in which a sentence speaks of them. Raises `BadFindings`."""
    every = plugins.collect(own.RULES) | {name: own.rule_of(finding) for name, finding in own.configured().items()}
    return dict(sorted(every.items(), key=lambda item: item[1].rank))


def helps() -> dict[str, str]:
    """What each rule notices, in a line."""
    mine = own.configured().values()
    return plugins.help_of(own.RULES) | {rule.name: f"{rule.says} ({rule.where}, from {own.VARIABLE})" for rule in mine}


class RuleRunner:
    """The rules over one session: `see` each turn in order, then ask for `findings`."""

    def __init__(self, home: str, readers: Callable[[str], list[str]] = lambda raw: []) -> None:
        self._calls = CallTracker(home)
        context = RuleContext(home, readers, self._calls)
        self._observers = [(rule, rule.observer(context)) for rule in rules().values()]
        self._by_kind: dict[str, list[Callable[[TurnView], None]]] = {}
        for rule, observer in self._observers:
            for kind in rule.kinds:
                self._by_kind.setdefault(kind, []).append(observer.see)

    def see(self, turn: TurnView) -> None:
        self._calls.see(turn)
        for look in self._by_kind.get(turn.kind, ()):
            look(turn)

    def findings(self) -> list[RuleFinding]:
        """What the rules found, what weighs most first; no more turns may come."""
        return [finding for rule, observer in self._observers for finding in _findings(rule, observer)]


def _findings(rule: Rule, observer: Observer) -> list[RuleFinding]:
    return [
        RuleFinding(rule.name, rule.severity, tuple(marked.positions), {**detail, "turns": marked.count})
        for marked, detail in observer.end()
    ]


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
