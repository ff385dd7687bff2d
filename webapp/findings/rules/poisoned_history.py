"""The provider refused every turn after a malformed call, or because calls and results do not pair in the history."""

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
_unpaired = re.compile(
    r"`tool_use` ids|unexpected `tool_use_id`|must be (?:followed by tool|a response to)|does not follow tool call"
    r"|no tool (?:call|output) found",
    re.IGNORECASE,
)
"""what is said of a call without its result, of a result without its call, and of two calls with one id"""


@dataclass(slots=True)
class Poisoned:
    """A malformed call, or None, and the refusals that followed, with nothing from the model between them."""

    call: int | None
    tool: str
    refusals: MarkedTurns = field(default_factory=MarkedTurns)


class PoisonedHistories(Observer):
    def __init__(self, context: RuleContext) -> None:
        super().__init__(context)
        self.open: dict[int | None, Poisoned] = {}

    def see(self, turn: TurnView) -> None:
        if said := refused(turn):
            if turn.sounding not in self.open and _unpaired.search(said) and len(self.open) < _MOST_BRANCHES:
                self.open[turn.sounding] = Poisoned(None, "")
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
                calls = [] if poisoned.call is None else [poisoned.call]
                detail: Detail = {"tool": poisoned.tool, "refused": refusals.count}
                marked = MarkedTurns([*calls, *refusals.positions][:MOST_TURNS], refusals.count + len(calls))
                yield marked, detail if calls else detail | {"unpaired": True}


def refused(turn: TurnView) -> str | None:
    """What a provider says of calls or of JSON as it refuses a request; None where a turn is no such refusal."""
    text = turn.raw if turn.kind == "error" else turn.failure if turn.kind in ("response", "event") else None
    text = (text or "")[:_LOOKED_AT]
    is_refusal = _unpaired.search(text) or (_refused.search(text) and _about_calls.search(text))
    return text if is_refusal else None


def says(detail: Detail) -> str:
    of = f" of {code(detail['tool'])}" if detail["tool"] else ""
    turns = number(detail["refused"], "request")
    if detail.get("unpaired"):
        return f"calls and results do not pair in the history, and the provider refused {turns} in a row"
    return f"a malformed call{of} stayed in the history, and the provider refused all {turns} after it"


plugin = Rule("poisoned_history", "high", 12, ("response", "tool_call", "error", "event"), PoisonedHistories, says)
