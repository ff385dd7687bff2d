"""After a tool call that never ran, the agent describes output that no tool returned."""

from __future__ import annotations

import re

from webapp.findings.rule import MOST_TURNS, Detail, MarkedTurns, Observer, Rule, RuleContext, TurnView, number
from webapp.findings.tool_calls import CallTracker

_LOOKED_AT = 20_000
_shows = r"(?:shows?|showed|confirms?|confirmed|indicates?|indicated|reads|was|were|is)"
_ran = (
    r"(?:(?:was|were|has|have|been|is|successfully)\ ){0,3}"
    r"(?:executed|ran|run|completed|finished|returned|printed|output|produced|gave|succeeded|pass(?:ed|es)|used|called"
    r"|confirms?|confirmed)"
)
_claim = re.compile(
    rf"""\b(?:
      (?:the|this|previous|above)\ (?:output|results?)\ (?:of\ [^.\n]{{1,60}}\ )?{_shows}\b
    | `?(?:script|code|program|tool|function|command|query|call|tests?|assertions?|checks?|execution)`?\ (?:\w+\ )?
      {_ran}\b
    | (?:executed|ran)\ successfully
    | (?:it|they)\ (?:printed|returned)\b
    | (?:shown|printed|returned)\ (?:by|in)\ the\ (?:output|tool|script|code)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_not_yet = re.compile(
    r"\b(?:once|when|if|until|after|before|cannot|can't|not|never|no|will|should|would|wait\w*|need)\b[^.!?\n]{0,60}$",
    re.IGNORECASE,
)


class ClaimedResults(Observer):
    def __init__(self, context: RuleContext) -> None:
        super().__init__(context)
        self.tracker = CallTracker(context.home)
        self.unsure = MarkedTurns()

    def see(self, turn: TurnView) -> None:
        self.tracker.see(turn)
        sure = turn.sounding in self.tracker.waiting
        if turn.kind == "response" and (sure or turn.sounding in self.tracker.unsure) and claims(turn.raw or ""):
            (self.marked if sure else self.unsure).add(turn.position)

    def settle(self) -> None:
        """Where calls are native, those that the parser reads from text were lost, too, and what follows is made up."""
        if self.tracker.native:
            self.marked.count += self.unsure.count
            self.marked.positions = sorted(self.marked.positions + self.unsure.positions)[:MOST_TURNS]

    def detail(self) -> Detail:
        return {"claims": self.marked.count}


def claims(raw: str) -> bool:
    """Whether a text speaks of output as of something seen; what is only hoped for or denied does not count."""
    text = raw[:_LOOKED_AT]
    return any(not _not_yet.search(text, max(0, claim.start() - 80), claim.start()) for claim in _claim.finditer(text))


def says(detail: Detail) -> str:
    often = "" if detail["claims"] == 1 else f", in {number(detail['claims'], 'turn')}"
    return f"the agent then described results that no tool gave{often}"


plugin = Rule("claimed_result", "high", 20, ("response", "tool_call", "tool_result", "prompt"), ClaimedResults, says)
