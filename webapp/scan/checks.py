"""The fixed checks of a scanned session: each is kept, broken, or not knowable from this log, and why."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from webapp.contracts.contract import BROKEN
from webapp.dumps.records import Turn
from webapp.findings.rule import RuleFinding
from webapp.parsing import Trace
from webapp.parsing.words import counted

State = Literal["kept", "broken", "unknown"]
_by_a_person = re.compile(r"abort|cancel|interrupt", re.IGNORECASE)
_breaks_off_an_answer = re.compile(r"stream (?:disconnected|closed|ended) before", re.IGNORECASE)


class Check(NamedTuple):
    """A check: what it says in words, and the rules of findings that break it."""

    words: str
    rules: tuple[str, ...]
    state: str = ""
    """of a contract that it breaks"""


CHECKS: Mapping[str, Check] = {
    "json_read": Check("JSON read", ("silently_wrong", "merged_values", "mojibake", "hidden_text"), "invalid_json"),
    "calls_ran": Check("calls ran", ("lost_tool_call", "silent_discard", "false_alarm")),
    "arguments_fit": Check("arguments fit", ("emptied_arguments", "broken_contract"), "schema_mismatch"),
    "names_declared": Check("names declared", (), "unknown_name"),
    "not_cut": Check("not cut", ("cut_response",)),
    "answered": Check("answered", ("billed_but_empty", "turns_exhausted", "zombie_model", "other_model")),
    "no_loop": Check(
        "no loop",
        ("runaway_repetition", "same_failure_again", "validation_storm", "rejected_again", "poisoned_history"),
    ),
    "claims_backed": Check("claims backed", ("claimed_result",)),
}


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What came of one check over one session; `turns` are positions of turns that break it."""

    state: State
    why: str | None = None
    turns: tuple[int, ...] = ()


@dataclass(slots=True)
class Evidence:
    """What a session's log shows that the checks ask for, counted as its turns come."""

    home_known: bool
    responses: int = 0
    calls: int = 0
    results: int = 0
    stops: int = 0
    """responses of which the log says why the model stopped"""
    declared: int = 0
    """responses whose request declares what they must be"""
    offered: int = 0
    """texts that hold more than JSON, which only the program's own parser can judge"""
    uncounted: int = 0
    """answers that say nothing, of which the log does not say what they cost"""
    broken: dict[str, set[int]] = field(default_factory=dict)
    """positions of responses that break their contract, by its state; one that failed in production is no JSON"""
    asked: bool = False
    error: tuple[int, str] | None = None
    """whether what was asked last has no answer yet; the position and the beginning of the error that came instead"""

    def breaks(self, position: int, state: str = "invalid_json") -> None:
        self.broken.setdefault(state, set()).add(position)

    def held(self, position: int, state: str) -> None:
        """Count what holding a response against its own request came to."""
        self.declared += state not in ("not_declared", "not_checked")
        if state in BROKEN:
            self.breaks(position, state)

    def answered(self, turns: Sequence[Turn]) -> None:
        """See all turns of one entry: whether its model said nothing, and no tokens say what that cost."""
        written = [turn for turn in turns if turn.written_by_model]
        says = any(turn.kind == "tool_call" or (turn.raw or "").strip() for turn in written)
        self.uncounted += bool(written) and not says and all(turn.tokens_out is None for turn in written)

    def see(self, turn: Turn, position: int, traces: Sequence[Trace]) -> None:
        """Count the next turn, which repeats no other."""
        self.results += turn.kind == "tool_result"
        asks = turn.kind in ("prompt", "tool_result")
        is_broken_off = turn.stop is not None and turn.stop.reason == "error"
        if asks or turn.kind == "tool_call" or (turn.written_by_model and turn.raw and not is_broken_off):
            self.asked, self.error = asks, None
        elif turn.kind == "error" and (self.asked or _breaks_off_an_answer.match(turn.raw or "")):
            said = " ".join((turn.raw or "")[:400].split())
            self.error = None if _by_a_person.search(said) else (position, said)
        if not turn.written_by_model:
            return
        self.responses += 1
        self.calls += turn.kind == "tool_call"
        self.stops += turn.stop is not None
        if turn.kind == "tool_call":
            return
        if self.home_known:
            if traces and traces[0].verdict == "failed":
                self.breaks(position)
        elif traces and traces[-1].verdict in ("extracted", "repaired", "failed"):
            self.offered += 1


def results(evidence: Evidence, findings: Sequence[RuleFinding]) -> dict[str, CheckResult]:
    """The result of each check, by its name."""
    return {name: _result(name, check, evidence, findings) for name, check in CHECKS.items()}


def _result(name: str, check: Check, evidence: Evidence, findings: Sequence[RuleFinding]) -> CheckResult:
    turns = sorted(evidence.broken.get(check.state, ()))
    turns += [evidence.error[0]] if name == "answered" and evidence.error else []
    turns += [position for finding in findings if finding.rule in check.rules for position in finding.turns]
    if turns or any(finding.rule in check.rules for finding in findings):
        return CheckResult("broken", turns=tuple(dict.fromkeys(turns)))
    why = _unknown(name, evidence)
    return CheckResult("unknown", why) if why else CheckResult("kept")


def _unknown(name: str, evidence: Evidence) -> str:
    """Why a check that nothing broke cannot be called kept; "" where it can."""
    if not evidence.responses:
        return "this log holds no response of a model"
    reasons = {
        "json_read": f"{counted(evidence.offered, 'text')} with JSON in other text, and the parser is unknown"
        if evidence.offered
        else "",
        "calls_ran": "this log holds calls and no result of one" if evidence.calls and not evidence.results else "",
        "arguments_fit": "" if evidence.declared else "this log does not say what its requests declare",
        "names_declared": "" if evidence.declared else "this log does not say what its requests declare",
        "not_cut": "" if evidence.stops else "this log does not say why the model stopped",
        "answered": f"{counted(evidence.uncounted, 'answer')} without a text, and this log does not say what was billed"
        if evidence.uncounted
        else "",
        "claims_backed": "" if evidence.calls or evidence.results else "this log holds no tool calls",
    }
    return reasons.get(name, "")
