"""What a finding rule is, what it may know of a session, and the finding that it makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from webapp import plugins
from webapp.findings import own
from webapp.findings.turn_view import TurnView

Severity = Literal["high", "medium", "low"]
Detail = dict[str, Any]

EVERY_KIND = ("response", "tool_call", "tool_result", "prompt", "error", "event")
"""kinds of turns, for a rule that looks at all of them"""
MOST_TURNS = 200
"""How many positions a finding keeps; `count` in its detail counts them all."""


@dataclass(frozen=True, slots=True)
class RuleContext:
    """What the rules know of the whole session: its home profile, and who would have read a text."""

    home: str
    readers: Callable[[str], list[str]] = lambda raw: []


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """Something a rule noticed; `turns` are positions, at most 200 of them, `detail` what its reason is made from."""

    rule: str
    severity: Severity
    turns: tuple[int, ...]
    detail: Detail

    @property
    def count(self) -> int:
        """How many turns show it, those beyond `turns` included."""
        return int(self.detail.get("turns", len(self.turns)))


@dataclass(slots=True)
class MarkedTurns:
    """The positions that show a finding: the first 200, and how many there are."""

    positions: list[int] = field(default_factory=list)
    count: int = 0

    def add(self, position: int) -> None:
        self.count += 1
        if len(self.positions) < MOST_TURNS:
            self.positions.append(position)


class Observer:
    """A rule over one session: it sees the turns in order, in bounded memory, and marks those that show something.

    A rule that decides something at the end has a `settle`, one that may find several things an `end` of its own.
    """

    def __init__(self, context: RuleContext) -> None:
        self.context = context
        self.home = context.home
        self.marked = MarkedTurns()

    def see(self, turn: TurnView) -> None:
        raise NotImplementedError

    def detail(self) -> Detail:
        """What the reason is made from; asked for at the end, where turns were marked."""
        return {}

    def settle(self) -> None:
        """Mark what shows only now that no more turns come."""

    def end(self) -> Iterator[tuple[MarkedTurns, Detail]]:
        self.settle()
        if self.marked.count:
            yield self.marked, self.detail()


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: which kinds of turns it looks at, how it looks at a session, and its reason in words.

    `says` makes a clause of a finding's detail, without a capital or a full stop. A page's one sentence begins with
    the clause of the lowest `rank`.
    """

    name: str
    severity: Severity
    rank: int
    kinds: tuple[str, ...]
    observer: Callable[[RuleContext], Observer]
    says: Callable[[Detail], str]


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
