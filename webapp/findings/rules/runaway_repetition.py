"""A response repeats itself in a loop, or the agent sends the same text or makes the same calls repeatedly."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from webapp.findings.rule import Detail, MarkedTurns, Observer, Rule, RuleContext, TurnView, code, number
from webapp.findings.tool_calls import is_rejection

_SHORTEST = 1000
"""code points; a shorter text is not looked at, and so much of it must be repetition"""
_TAIL = 48
_ENOUGH = 10
_IN_A_ROW = {"again": 4, "call": 5, "two": 4, "wait": 50}
"""from how many on the same text, call with its result, two such calls in turn, or call of who waits are told"""
_MOST_BRANCHES = 1000
_LONG_ENOUGH = 40
"""code points that a text must have for the same one again to mean anything"""
_asks_state = re.compile(r"\n(?!\S*git)\S*(?:status|progress)")
_step = "scroll|swipe|press|click|tap|next|move|step|roll|(?:draw|add|append|push|increment)(?![a-z])"
_steps = re.compile(rf"\n[^\n]*[^a-z](?:{_step})|\n(?:{_step})|\n[^\n]*\n.{{0,80}}?'action': '(?:key|{_step})")
_waits = re.compile(r"[^a-z](?:wait|sleep|poll|running|pending|queued|in.progress|not (?:ready|done|yet))")
"""by the tool's name, and in calls and results, in small letters: an agent that has reason to ask again"""
_over = re.compile(r"(?:status|state)\W{1,9}(?:completed?|done|finished|failed|cancell?ed)\b", re.I)
"""in a result that says of what is waited for that it is over"""
_WAITS_WITHIN = 600
"""code points of a call with its result: what is asked for again is short, and a long text may speak of anything"""


class Repetitions(Observer):
    def __init__(self, context: RuleContext) -> None:
        super().__init__(context)
        self.piece = ""
        self.times = 0
        self.rows: dict[tuple[int | None, str, Any], list[int]] = {}
        self.call: TurnView | None = None
        self.odd: dict[int | None, bool] = {}
        self.again = {what: MarkedTurns() for what in _IN_A_ROW}
        self.longest = Counter[str]()

    def see(self, turn: TurnView) -> None:
        raw = turn.raw
        if raw is None:
            return
        if turn.kind == "prompt":
            for what, who in (("wait", None), ("call", None), ("call", 0), ("call", 1)):
                self.rows.pop((turn.sounding, what, who), None)
        elif turn.kind == "tool_result":
            self._result(turn, raw)
        elif len(raw) >= _SHORTEST and (ending := loop(raw)) is not None:
            self.marked.add(turn.position)
            if ending[1] > self.times:
                self.piece, self.times = ending
        if turn.kind == "tool_call":
            self.call = turn
        if turn.kind == "response":
            row = self._row((turn.sounding, "again", turn.agent), turn, hash(raw))
            if len(raw) >= _LONG_ENOUGH:
                self._tell("again", row)

    def end(self) -> Iterator[tuple[MarkedTurns, Detail]]:
        yield from super().end()
        for what, marks in self.again.items():
            if marks.count:
                yield marks, {"what": what, "times": self.longest[what]}

    def detail(self) -> Detail:
        return {"what": "loop", "piece": self.piece, "times": self.times, "texts": self.marked.count}

    def _result(self, turn: TurnView, raw: str) -> None:
        """Count a call with what it gave; errors are for `rejected_again`, and who waits may ask again."""
        call, self.call = self.call, None
        if call is not None and call.sounding == turn.sounding and not is_rejection(turn):
            asked = call.ours.values if call.ours and call.ours.verdict == "clean" else call.raw  # however it is spaced
            text = f"\n{call.agent}\n{asked}\n{raw}"
            start, mark = text[:_WAITS_WITHIN].lower(), hash(text)
            asks_state = _asks_state.match(start) and not _over.search(raw, 0, _WAITS_WITHIN)
            if asks_state or _steps.match(start) or _waits.search(start):
                self._tell("wait", self._row((call.sounding, "wait", None), call, mark))
            else:
                self.rows.pop((call.sounding, "wait", None), None)
                self._call(call, mark)

    def _call(self, turn: TurnView, mark: int) -> None:
        """Count a call as the same one again, and as every other one, which two calls in turn are."""
        branch = turn.sounding
        if branch not in self.odd and len(self.odd) >= _MOST_BRANCHES:
            return
        self._tell("call", self._row((branch, "call", None), turn, mark))
        self.odd[branch] = odd = not self.odd.get(branch, True)
        place, beside = (branch, "call", int(odd)), (branch, "call", int(not odd))
        is_first = place not in self.rows
        row, other = self._row(place, turn, mark), self.rows.get(beside)
        if row[1] == 1 and not is_first:  # another call: what came in turn with the one before is over
            self.rows.pop(beside, None)
        elif other is not None and other[0] != row[0] and other[1] >= _IN_A_ROW["two"]:
            self._tell("two", row, other)

    def _row(self, place: tuple[int | None, str, Any], turn: TurnView, mark: int) -> list[int]:
        """How often the same came in a row at a place: its hash, how often, where it did at first, and last."""
        row = self.rows.get(place)
        if row is None or row[0] != mark:
            row = [mark, 0]
            if place in self.rows or len(self.rows) < _MOST_BRANCHES:
                self.rows[place] = row
        row[1] += 1
        del row[2 + max(_IN_A_ROW.values()) :]
        row.append(turn.position)
        return row

    def _tell(self, what: str, row: list[int], other: list[int] | None = None) -> None:
        """Mark what came often enough: all of it when that shows, and then each that follows."""
        if (times := row[1]) >= _IN_A_ROW[what]:
            for position in sorted(row[2:] + (other or [])[2:]) if times == _IN_A_ROW[what] else row[-1:]:
                self.again[what].add(position)
            self.longest[what] = max(self.longest[what], times)


def loop(raw: str) -> tuple[str, int] | None:
    """The piece that a text repeats until it ends, and how often; None where it does not end in a loop."""
    tail = raw[-_TAIL:]
    before = raw.rfind(tail, 0, len(raw) - 1)
    if before < 0:
        return None
    piece = raw[_TAIL + before :]
    times = _times(raw, piece)
    repeated = times * len(piece)
    if times < _ENOUGH or repeated < _SHORTEST or 3 * repeated < len(raw):
        return None
    return piece[:80], times


def _times(raw: str, piece: str) -> int:
    """How often `piece` stands at the end of `raw`, found in few steps."""
    step = 1
    while raw.endswith(piece * (2 * step)):
        step *= 2
    times = step
    while (step := step // 2) > 0:
        if raw.endswith(piece * (times + step)):
            times += step
    return times


def says(detail: Detail) -> str:
    if detail["what"] == "again":
        return f"the agent sent the same text {number(detail['times'], 'time')} in a row"
    if detail["what"] in ("call", "wait"):
        return f"the agent made the same call {number(detail['times'], 'time')} in a row, and got the same result"
    if detail["what"] == "two":
        return f"the agent made the same two calls in turn {number(detail['times'], 'time')}, and got the same results"
    piece = detail["piece"].strip()
    repeated = code(piece, 30) if piece else "white space"
    if detail["texts"] > 1:
        many = number(detail["texts"], "response")
        return f"{many} end in a loop, {repeated} {number(detail['times'], 'time')} in one of them"
    return f"a response repeats {repeated} {number(detail['times'], 'time')} until it ends"


plugin = Rule("runaway_repetition", "medium", 75, ("response", "tool_call", "tool_result", "prompt"), Repetitions, says)
