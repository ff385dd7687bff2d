"""A response repeats itself in a loop, or the agent sends the same text or makes the same call repeatedly."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from webapp.findings.rule import Detail, MarkedTurns, Observer, Rule, RuleContext, TurnView, code, number
from webapp.findings.tool_calls import is_rejection
from webapp.jsontext import text_hash

_SHORTEST = 1000
"""code points; a shorter text is not looked at, and so much of it must be repetition"""
_TAIL = 48
_ENOUGH = 10
_IN_A_ROW = {"again": 4, "call": 5}
"""from how many on the same text, or the same call with the same result, is told"""
_MOST_BRANCHES = 1000
_LONG_ENOUGH = 40
"""code points that a text must have for the same one again to mean anything"""
_waits = re.compile(r"(?<![a-z])(?:wait|sleep|poll|running|pending|queued|in.progress|not (?:ready|done|yet))", re.I)
"""in calls and results of an agent that has reason to ask again"""


class Repetitions(Observer):
    def __init__(self, context: RuleContext) -> None:
        super().__init__(context)
        self.piece = ""
        self.times = 0
        self.rows: dict[tuple[int | None, str, str | None], list[int]] = {}
        self.call: TurnView | None = None
        self.again = {what: MarkedTurns() for what in _IN_A_ROW}
        self.longest = Counter[str]()

    def see(self, turn: TurnView) -> None:
        raw = turn.raw
        if raw is None:
            return
        if turn.kind == "prompt":
            self.rows.pop((turn.sounding, "call", None), None)
        elif turn.kind == "tool_result":
            self._result(turn, raw)
        elif len(raw) >= _SHORTEST and (ending := loop(raw)) is not None:
            self.marked.add(turn.position)
            if ending[1] > self.times:
                self.piece, self.times = ending
        if turn.kind == "tool_call":
            self.call = turn
        if turn.kind == "response":
            self._row("again", turn, raw, turn.agent)

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
            text = f"{call.agent}\n{call.raw}\n{raw}"
            if not _waits.search(text, 0, 2 * _SHORTEST):
                self._row("call", call, text)

    def _row(self, what: str, turn: TurnView, raw: str, who: str | None = None) -> None:
        """Count how often the same comes in a row from one speaker: its hash, how often, and where at first."""
        place, enough = (turn.sounding, what, who), _IN_A_ROW[what]
        row = self.rows.get(place)
        mark = text_hash(raw)
        if row is None or row[0] != mark:
            if row is not None or len(self.rows) < _MOST_BRANCHES:
                self.rows[place] = [mark, 1, turn.position]
            return
        if len(row) < 2 + enough:
            row.append(turn.position)
        row[1] += 1
        if row[1] >= enough and (what == "call" or len(raw) >= _LONG_ENOUGH):
            for position in row[2:] if row[1] == enough else [turn.position]:
                self.again[what].add(position)
            self.longest[what] = max(self.longest[what], row[1])


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
    if detail["what"] == "call":
        return f"the agent made the same call {number(detail['times'], 'time')} in a row, and got the same result"
    piece = detail["piece"].strip()
    repeated = code(piece, 30) if piece else "white space"
    if detail["texts"] > 1:
        many = number(detail["texts"], "response")
        return f"{many} end in a loop, {repeated} {number(detail['times'], 'time')} in one of them"
    return f"a response repeats {repeated} {number(detail['times'], 'time')} until it ends"


plugin = Rule("runaway_repetition", "medium", 75, ("response", "tool_call", "tool_result", "prompt"), Repetitions, says)
