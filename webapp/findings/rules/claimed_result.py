"""Without a tool call, or after one that never ran or gave nothing but errors, the agent claims output or success."""

from __future__ import annotations

import re
from collections import Counter

from webapp.findings.rule import MOST_TURNS, Detail, MarkedTurns, Observer, Rule, RuleContext, TurnView, number
from webapp.findings.tool_calls import declared_tools, is_rejection

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
_succeeded = re.compile(r"\bsuccessfully (?:\w+ed|ran|sent|wr\w+)\b|\b(?:\w+ed|ran|sent|written) successfully", re.I)
_did = re.compile(
    r"\bI(?:['’]ve| have)? (?:just |now )?successfully (?:saved|sent|deleted|booked|executed|ran|installed|deployed|"
    r"(?:created|wrote|written|updated|added)\b[^.\n]{0,60}?\b(?:file|record|ticket|event|entry|issue))\b",
    re.IGNORECASE,
)
"""what only a tool can have done"""
_DONE_BY = {"sent": "send", "deleted": "delete", "archived": "archive", "booked": "book", "scheduled": "schedule"}
_done = re.compile(rf"\W*(?:(?:done|okay|ok|sure|great|perfect)\W+)?I(?:['’]ve| have)? ({'|'.join(_DONE_BY)})\b", re.I)
"""the same without "successfully": how an answer begins, and what of the name of a declared tool it says was done"""
_admits = re.compile(r"\b(?:error\w*|fail\w*|however|but|although|unable|not|cannot|\w+n['’]t)\b", re.IGNORECASE)


class ClaimedResults(Observer):
    def __init__(self, context: RuleContext) -> None:
        super().__init__(context)
        self.unsure = MarkedTurns()
        self.only_errors: dict[int | None, bool] = {}
        self.acted = False
        self.how = Counter[str]()

    def see(self, turn: TurnView) -> None:
        calls = self.context.calls
        self.acted |= turn.kind in ("tool_call", "tool_result") or turn.sounding in calls.open
        sure = turn.sounding in calls.waiting
        if turn.kind == "response" and (sure or turn.sounding in calls.unsure) and claims(turn.raw or ""):
            (self.marked if sure else self.unsure).add(turn.position)
        elif turn.kind == "response":
            self._claimed_success(turn, (turn.raw or "")[:_LOOKED_AT])
        elif turn.kind == "tool_result":
            self.only_errors[turn.sounding] = is_rejection(turn) and self.only_errors.get(turn.sounding, True)
        elif turn.kind == "prompt":
            self.only_errors.pop(turn.sounding, None)

    def _claimed_success(self, turn: TurnView, text: str) -> None:
        """Mark success after nothing but errors, and what a model says it did that could call tools and called none."""
        in_spite = self.only_errors.get(turn.sounding)
        if not in_spite and (self.acted or not declared_tools(turn)):
            return
        claims_it = _succeeded.search(text) if in_spite else _did.search(text) or _says_done(text, declared_tools(turn))
        if claims_it and not _admits.search(text):
            self.marked.add(turn.position)
            self.how["in_spite" if in_spite else "uncalled"] += 1

    def settle(self) -> None:
        """Where calls are native, those that the parser reads from text were lost, too, and what follows is made up."""
        if self.context.calls.native:
            self.marked.count += self.unsure.count
            self.marked.positions = sorted(self.marked.positions + self.unsure.positions)[:MOST_TURNS]

    def detail(self) -> Detail:
        return {"claims": self.marked.count, **self.how}


def _says_done(text: str, tools: list[str]) -> bool:
    """Whether an answer begins with the claim to have done what one of the tools is named for, and asks nothing."""
    done = _done.match(text)
    return done is not None and "?" not in text and any(_DONE_BY[done[1].lower()] in tool.lower() for tool in tools)


def claims(raw: str) -> bool:
    """Whether a text speaks of output as of something seen; what is only hoped for or denied does not count."""
    text = raw[:_LOOKED_AT]
    return any(not _not_yet.search(text, max(0, claim.start() - 80), claim.start()) for claim in _claim.finditer(text))


def says(detail: Detail) -> str:
    often = "" if detail["claims"] == 1 else f", in {number(detail['claims'], 'turn')}"
    if detail.get("in_spite") == detail["claims"]:
        return f"the agent claimed success, and its tools had given nothing but errors{often}"
    if detail.get("uncalled") == detail["claims"]:
        return f"the agent claimed success, and had called no tool{often}"
    return f"the agent then described results that no tool gave{often}"


plugin = Rule("claimed_result", "high", 20, ("response", "tool_call", "tool_result", "prompt"), ClaimedResults, says)
