"""After a tool call that never ran, the agent speaks of output that no tool gave."""

from __future__ import annotations

import re
from collections.abc import Iterator

from webapp.findings.base import About, Detail, Marks, Rule, Seen
from webapp.findings.calls import Tracker
from webapp.findings.words import number

_LOOKED_AT = 20_000
_seen = r"(?:shows?|showed|confirms?|confirmed|indicates?|indicated|reads|was|were|is)"
_done = (
    r"(?:(?:was|were|has|have|been|is|successfully)\ ){0,3}"
    r"(?:executed|ran|run|completed|finished|returned|printed|output|produced|gave|succeeded|pass(?:ed|es)|used|called"
    r"|confirms?|confirmed)"
)
_claim = re.compile(
    rf"""\b(?:
      (?:the|this|previous|above)\ (?:output|results?)\ (?:of\ [^.\n]{{1,60}}\ )?{_seen}\b
    | `?(?:script|code|program|tool|function|command|query|call|tests?|assertions?|checks?|execution)`?\ (?:\w+\ )?
      {_done}\b
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


class Watch:
    def __init__(self, about: About) -> None:
        self.tracker = Tracker(about.home)
        self.marks = Marks()

    def see(self, turn: Seen) -> None:
        self.tracker.see(turn)
        if turn.kind == "response" and turn.sounding in self.tracker.waiting and claims(turn.raw or ""):
            self.marks.add(turn.position)

    def end(self) -> Iterator[tuple[Marks, Detail]]:
        if self.marks:
            yield self.marks, {"claims": self.marks.count}


def claims(raw: str) -> bool:
    """Whether a text speaks of output as of something seen; what is only hoped for or denied does not count."""
    text = raw[:_LOOKED_AT]
    return any(not _not_yet.search(text, max(0, found.start() - 80), found.start()) for found in _claim.finditer(text))


def says(detail: Detail) -> str:
    times = detail["claims"]
    return "the agent then described results that no tool gave" + (
        "" if times == 1 else f", in {number(times, 'turn')}"
    )


plugin = Rule("claimed_result", "high", 20, ("response", "tool_call", "tool_result", "prompt"), Watch, says)
