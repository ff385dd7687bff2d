"""Calls and results that do not pair: two calls of one id, or a provider that refused every turn after a bad call."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from webapp.findings.rule import (
    EVERY_KIND,
    MOST_TURNS,
    Detail,
    MarkedTurns,
    Observer,
    Rule,
    RuleContext,
    TurnView,
    code,
    number,
)

LEAST = 2
"""refusals in a row: a single one is a failed request"""
_MOST_BRANCHES = 1000
_LOOKED_AT = 4_000
_ID_KEYS = ("call_id", "id", "toolUseId", "tool_call_id", "toolCallId")
_refused = re.compile(
    r"\b(?:400|422)\b|bad request|invalid[ _]request|unprocessable|invalid_argument|badrequesterror", re.IGNORECASE
)
_about_calls = re.compile(
    r"\bjson\b|tool[ _-]?(?:call|use)|function[ _]?call|\barguments?\b|unterminated string|expecting ", re.IGNORECASE
)
_unpaired = re.compile(
    r"`tool_use` ids|tool_use ids must|duplicate ids|unexpected `tool_use_id`|expected toolresult blocks"
    r"|must be (?:followed by tool|a response to)|does not follow tool call|no tool (?:call|output) found"
    r"|function ?response\b.{0,40}function ?call\b",
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
        self.entry = -1
        self.calls: dict[str, TurnView] = {}
        self.shared, self.shared_id = MarkedTurns(), ""

    def see(self, turn: TurnView) -> None:
        self._pair(turn)
        has_room = turn.sounding in self.open or len(self.open) < _MOST_BRANCHES
        if said := refused(turn):
            if has_room and _unpaired.search(said):
                self.open.setdefault(turn.sounding, Poisoned(None, ""))
            if turn.sounding in self.open:
                self.open[turn.sounding].refusals.add(turn.position)
        elif turn.kind == "tool_call" and (turn.raw or "").strip() and turn.ours and turn.ours.verdict != "clean":
            if has_room:
                self.open[turn.sounding] = Poisoned(turn.position, turn.agent or "")
        elif turn.kind in ("response", "tool_call") and not turn.failure:
            self.open.pop(turn.sounding, None)

    def _pair(self, turn: TurnView) -> None:
        """Mark a call with the id of another one of its answer; the same call again is none, and a result ends it."""
        if turn.entry != self.entry or turn.kind != "tool_call":
            self.entry, self.calls = turn.entry, {}
        call = turn.tool_calls[0] if turn.kind == "tool_call" and turn.tool_calls else None
        ident = next((call[key] for key in _ID_KEYS if call.get(key)), None) if isinstance(call, dict) else None
        first = self.calls.setdefault(str(ident), turn) if ident and len(self.calls) < MOST_TURNS else turn
        if (first.agent, first.raw) != (turn.agent, turn.raw):
            self.shared_id = self.shared_id or str(ident)
            self.shared.add(turn.position)

    def end(self) -> Iterator[tuple[MarkedTurns, Detail]]:
        if self.shared.count:
            yield self.shared, {"id": self.shared_id}
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
    if "id" in detail:
        return f"{number(detail['turns'], 'call')} with the id of another call of the same answer, {code(detail['id'])}"
    of = f" of {code(detail['tool'])}" if detail["tool"] else ""
    turns = number(detail["refused"], "request")
    if detail.get("unpaired"):
        return f"calls and results do not pair in the history, and the provider refused {turns} in a row"
    return f"a malformed call{of} stayed in the history, and the provider refused all {turns} after it"


plugin = Rule("poisoned_history", "high", 12, EVERY_KIND, PoisonedHistories, says)
