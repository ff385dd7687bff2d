"""Shows each turn to the rules that look at its kind, and collects what they found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from functools import cache
from typing import Any, Protocol

from webapp import plugins
from webapp.findings.base import About, Finding, Rule, Seen, Watch

_RULES = "webapp.findings.rules"


class Found(Protocol):
    """A finding, fresh or stored."""

    @property
    def rule(self) -> str: ...
    @property
    def detail(self) -> Mapping[str, Any]: ...


@cache
def rules() -> dict[str, Rule]:
    """Every rule by name, in the order in which a sentence speaks of them."""
    found: dict[str, Rule] = plugins.collect(_RULES)
    return dict(sorted(found.items(), key=lambda item: item[1].rank))


def helps() -> dict[str, str]:
    """What each rule notices, in a line."""
    return plugins.help_of(_RULES)


class Notice:
    """The rules over one session: `see` each turn in order, then ask for `findings`."""

    def __init__(self, about: About) -> None:
        self._watches: list[tuple[Rule, Watch]] = [(rule, rule.watch(about)) for rule in rules().values()]
        self._lookers: dict[str, list[Callable[[Seen], None]]] = {}
        for rule, watch in self._watches:
            for kind in rule.kinds:
                self._lookers.setdefault(kind, []).append(watch.see)

    def see(self, turn: Seen) -> None:
        for look in self._lookers.get(turn.kind, ()):
            look(turn)

    def findings(self) -> list[Finding]:
        """What was found, what weighs most first; no more turns may come."""
        return _found(self._watches)

    def so_far(self) -> list[Finding]:
        """What `findings` would say if no more turns came; more may come."""
        return _found([(rule, deepcopy(watch)) for rule, watch in self._watches])


def _found(watches: list[tuple[Rule, Watch]]) -> list[Finding]:
    found: list[Finding] = []
    for rule, watch in watches:
        for marks, detail in watch.end():
            known = {**detail, "turns": marks.count}
            found.append(Finding(rule.name, rule.severity, tuple(marks.positions), known))
    return found


def about_rule(name: str) -> tuple[str, str]:
    """A rule's name in words and what it notices; a rule that is no longer there has only its name."""
    return name.replace("_", " "), helps().get(name, "")


def reason(found: Found) -> str:
    """Why this was found, as a sentence; code is in backticks as in Markdown."""
    return _begin(_clause(found)) + "."


def sentence(found: Iterable[Found], most: int = 3) -> str:
    """What went wrong, in one sentence made of the `most` weightiest findings; "" where there are none.

    A rule that found several things speaks once.
    """
    known = rules()
    first: dict[str, Found] = {}
    for finding in found:
        first.setdefault(finding.rule, finding)
    order = sorted((name for name in first if name in known), key=lambda name: known[name].rank)
    clauses = [_clause(first[name]) for name in order if known[name].severity != "low" or len(order) == 1]
    return _begin("; ".join(clauses[:most])) + "." if clauses else ""


def _clause(found: Found) -> str:
    rule = rules().get(found.rule)
    return rule.says(dict(found.detail)) if rule else found.rule.replace("_", " ")


def _begin(text: str) -> str:
    return text[:1].upper() + text[1:]
