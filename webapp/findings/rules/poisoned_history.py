"""A malformed tool call went back to the provider in the history, and the provider refused every turn after it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from webapp.findings.rule import MOST_TURNS, Detail, MarkedTurns, Observer, Rule, RuleContext, TurnView, code, number

LEAST = 2
"""refusals in a row: a single one is a failed request"""
_MOST_BRANCHES = 1000
_LOOKED_AT = 4_000
_refused = re.compile(
    r"\b(?:400|422)\b|bad request|invalid[ _]request|unprocessable|invalid_argument|badrequesterror", re.IGNORECASE
)
_about_calls = re.compile(
    r"\bjson\b|tool[ _-]?(?:call|use)|function[ _]?call|\barguments?\b|unterminated string|expecting ", re.IGNORECASE
)


@dataclass(slots=True)
class Poisoned:
    """A malformed call and the refusals that followed it, with nothing from the model between them."""

    call: int
    tool: str
    refusals: MarkedTurns = field(default_factory=MarkedTurns)


class PoisonedHistories(Observer):
    def __init__(self, context: RuleContext) -> None:
        super().__init__(context)
        self.open: dict[int | None, Poisoned] = {}

    def see(self, turn: TurnView) -> None:
        if refused(turn):
            if turn.sounding in self.open:
                self.open[turn.sounding].refusals.add(turn.position)
        elif turn.kind == "tool_call" and (turn.raw or "").strip() and turn.ours and turn.ours.verdict != "clean":
            if turn.sounding in self.open or len(self.open) < _MOST_BRANCHES:
                self.open[turn.sounding] = Poisoned(turn.position, turn.agent or "")
        elif turn.kind in ("response", "tool_call") and not turn.failure:
            self.open.pop(turn.sounding, None)

    def end(self) -> Iterator[tuple[MarkedTurns, Detail]]:
        for poisoned in self.open.values():
            refusals = poisoned.refusals
            if refusals.count >= LEAST:
                positions = [poisoned.call, *refusals.positions][:MOST_TURNS]
                yield MarkedTurns(positions, refusals.count + 1), {"tool": poisoned.tool, "refused": refusals.count}


def refused(turn: TurnView) -> bool:
    """Whether a turn is a provider's refusal of a request, for what it says of calls or of JSON."""
    text = turn.raw if turn.kind == "error" else turn.failure if turn.kind in ("response", "event") else None
    text = (text or "")[:_LOOKED_AT]
    return _refused.search(text) is not None and _about_calls.search(text) is not None


def says(detail: Detail) -> str:
    of = f" of {code(detail['tool'])}" if detail["tool"] else ""
    turns = number(detail["refused"], "request")
    return f"a malformed call{of} stayed in the history, and the provider refused all {turns} after it"


plugin = Rule("poisoned_history", "high", 12, ("response", "tool_call", "error", "event"), PoisonedHistories, says)
