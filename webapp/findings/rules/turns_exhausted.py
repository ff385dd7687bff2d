"""The agent used up its turns without a result."""

from __future__ import annotations

import re
from dataclasses import dataclass

from webapp.findings.rule import Detail, Observer, Rule, RuleContext, TurnView, names, number

_LOOKED_AT = 600
_MOST_BRANCHES = 1000
_used_up = re.compile(
    r"\bmax(?:imum)?[ _]?(?:number of |allowed )?(?:turns?|iterations?|steps?|rounds?)\b[^.\n]{0,40}"
    r"\b(?:exhausted|reached|exceeded|hit)\b"
    r"|\b(?:exhausted|reached|exceeded|hit)\b[^.\n]{0,30}\bmax(?:imum)?[ _]?(?:number of |allowed )?"
    r"(?:turns?|iterations?|steps?|rounds?)\b"
    r"|\bMaxTurnsExceeded|\bstopped due to (?:iteration limit|max iterations)|\b(?:turn|iteration|recursion) limit "
    r"(?:of \d+ )?(?:was )?(?:reached|exceeded|exhausted)",
    re.IGNORECASE,
)
_instead_of_an_answer = re.compile(
    r"Agent stopped due to (?:iteration limit or time limit|max iterations)\.|"
    r"Sorry, need more steps to process this request\."
)
"""what LangChain's and LangGraph's agents give as their answer when they stop"""


@dataclass(slots=True)
class _Branch:
    """One phase of one sounding: its limit, the last response, and whether anything came of it."""

    most: int
    round: int = -1
    last: int = -1
    unread: int = 0
    """responses that the home profile could not read, with no error that told the agent so"""
    last_failed: bool = False
    results: int = 0


class ExhaustedTurns(Observer):
    def __init__(self, context: RuleContext) -> None:
        super().__init__(context)
        self.branches: dict[tuple[str | None, int | None], _Branch] = {}
        self.limits: dict[str | None, int] = {}
        self.newest = -1
        self.phases: dict[str, None] = {}
        self.announced: set[tuple[str | None, int | None]] = set()

    def see(self, turn: TurnView) -> None:
        if turn.kind == "response":
            self._respond(turn)
        elif turn.kind == "tool_result":
            if (branch := self.branches.get((turn.phase, turn.sounding))) is not None:
                branch.results += 1
        else:
            self._other(turn)

    def settle(self) -> None:
        for place, branch in self.branches.items():
            used = branch.round + 1 >= branch.most >= 2
            if used and place not in self.announced and (branch.last_failed or (branch.unread and not branch.results)):
                self._mark(place, branch.last)

    def detail(self) -> Detail:
        return {"times": self.marked.count, "phases": list(self.phases)}

    def _respond(self, turn: TurnView) -> None:
        place = (turn.phase, turn.sounding)
        self.newest = turn.position
        if turn.raw and len(turn.raw) < _LOOKED_AT and _instead_of_an_answer.fullmatch(turn.raw.strip()):
            self._mark(place, turn.position)
            self.announced.add(place)
        most = self.limits.get(turn.phase)
        if turn.round is None and most is None:
            return
        branch = self.branches.get(place)
        if branch is None:
            if most is None or len(self.branches) >= _MOST_BRANCHES:
                return
            branch = self.branches[place] = _Branch(most)
        branch.round = branch.round if turn.round is None else turn.round
        branch.last = turn.position
        branch.last_failed = turn.failed
        branch.unread += branch.last_failed

    def _other(self, turn: TurnView) -> None:
        """A limit that is set, an error about the last response, or words that say the turns are used up."""
        if turn.most_rounds is not None and len(self.limits) < _MOST_BRANCHES:
            self.limits[turn.phase] = turn.most_rounds
        place = (turn.phase, turn.sounding)
        branch = self.branches.get(place)
        if turn.answers is not None and branch is not None and turn.answers == branch.last:
            branch.unread -= branch.last_failed
            branch.last_failed = True
        elif turn.raw and len(turn.raw) < _LOOKED_AT and _used_up.search(turn.raw):
            last = branch.last if branch is not None else self.newest
            self._mark(place, turn.position if last < 0 else last)
            self.announced.add(place)

    def _mark(self, place: tuple[str | None, int | None], position: int) -> None:
        self.marked.add(position)
        phase = place[0]
        if phase is not None and len(self.phases) < 3:
            self.phases.setdefault(phase)


def says(detail: Detail) -> str:
    times, phases = detail["times"], detail["phases"]
    of = f" of {names(phases)}" if phases else ""
    often = "" if times == 1 else f" {number(times, 'time')}"
    return f"the turns{of} were used up{often} without an answer that passed"


plugin = Rule("turns_exhausted", "medium", 60, ("response", "tool_result", "event", "error"), ExhaustedTurns, says)
