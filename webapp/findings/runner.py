"""Shows each turn of a session to the rules that look at its kind, and collects their findings."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from webapp import plugins
from webapp.findings import own
from webapp.findings.rule import Observer, Rule, RuleContext, RuleFinding
from webapp.findings.turn_view import TurnView


@cache
def rules() -> dict[str, Rule]:
    """Every rule by name, one's own last, in the order in which a sentence speaks of them. Raises `BadFindings`."""
    every = plugins.collect(own.RULES) | {name: own.rule_of(finding) for name, finding in own.configured().items()}
    return dict(sorted(every.items(), key=lambda item: item[1].rank))


def helps() -> dict[str, str]:
    """What each rule notices, in a line."""
    mine = own.configured().values()
    return plugins.help_of(own.RULES) | {each.name: f"{each.says} ({each.where}, from {own.VARIABLE})" for each in mine}


class RuleRunner:
    """The rules over one session: `see` each turn in order, then ask for `findings`."""

    def __init__(self, context: RuleContext) -> None:
        self._observers = [(rule, rule.observer(context)) for rule in rules().values()]
        self._by_kind: dict[str, list[Callable[[TurnView], None]]] = {}
        for rule, observer in self._observers:
            for kind in rule.kinds:
                self._by_kind.setdefault(kind, []).append(observer.see)

    def see(self, turn: TurnView) -> None:
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
