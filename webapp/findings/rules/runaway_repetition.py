"""A response repeats itself in a loop, or the agent sends the same text repeatedly."""

from __future__ import annotations

from collections.abc import Iterator

from webapp.findings.rule import Detail, MarkedTurns, Observer, Rule, RuleContext, TurnView, code, number
from webapp.jsontext import text_hash

_SHORTEST = 1000
"""code points; a shorter text is not looked at, and so much of it must be repetition"""
_TAIL = 48
_ENOUGH = 10
_IN_A_ROW = 4
_MOST_BRANCHES = 1000
_LONG_ENOUGH = 40
"""code points that a text must have for the same one again to mean anything"""


class Repetitions(Observer):
    def __init__(self, context: RuleContext) -> None:
        super().__init__(context)
        self.piece = ""
        self.times = 0
        self.rows: dict[tuple[int | None, str | None], list[int]] = {}
        self.again = MarkedTurns()
        self.longest = 0

    def see(self, turn: TurnView) -> None:
        raw = turn.raw
        if raw is None:
            return
        if len(raw) >= _SHORTEST and (ending := loop(raw)) is not None:
            self.marked.add(turn.position)
            if ending[1] > self.times:
                self.piece, self.times = ending
        if turn.kind == "response":
            self._row(turn, raw)

    def end(self) -> Iterator[tuple[MarkedTurns, Detail]]:
        yield from super().end()
        if self.again.count:
            yield self.again, {"what": "again", "times": self.longest}

    def detail(self) -> Detail:
        return {"what": "loop", "piece": self.piece, "times": self.times, "texts": self.marked.count}

    def _row(self, turn: TurnView, raw: str) -> None:
        """Count how often the same text comes in a row from one speaker: its hash, how often, and where at first."""
        place = (turn.sounding, turn.agent)
        row = self.rows.get(place)
        mark = text_hash(raw)
        if row is None or row[0] != mark:
            if row is not None or len(self.rows) < _MOST_BRANCHES:
                self.rows[place] = [mark, 1, turn.position]
            return
        if len(row) < 2 + _IN_A_ROW:
            row.append(turn.position)
        row[1] += 1
        if row[1] >= _IN_A_ROW and len(raw) >= _LONG_ENOUGH:
            for position in row[2:] if row[1] == _IN_A_ROW else [turn.position]:
                self.again.add(position)
            self.longest = max(self.longest, row[1])


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
    piece = detail["piece"].strip()
    repeated = code(piece, 30) if piece else "white space"
    if detail["texts"] > 1:
        many = number(detail["texts"], "response")
        return f"{many} end in a loop, {repeated} {number(detail['times'], 'time')} in one of them"
    return f"a response repeats {repeated} {number(detail['times'], 'time')} until it ends"


plugin = Rule("runaway_repetition", "medium", 75, ("response", "tool_call"), Repetitions, says)
