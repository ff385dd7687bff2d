"""A tool rejected calls three times or more with the same error, and no call of it passed in between."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile
from typing import Any

from webapp.findings.rule import MODEL, Detail, MarkedTurns, Observer, Rule, RuleContext, TurnView, code, number
from webapp.findings.tool_calls import is_rejection, skeleton

_ENOUGH = 3
_MOST_ROWS = 1000
_passing = re.compile(r"\b(?:429|50[234]|529)\b|too many requests|rate.?limit|overload|timed? ?out|unavailable", re.I)
"""in an error that passes by itself"""
_spoken = re.compile(r"\[(?P<tool>\w{1,80})(?: for (?s:.{0,400}?))?\] Result:\s{0,9}|(?=\[ERROR\] You did not use)")
"""what Cline and its kin send back as a prompt, before the result of a call that the answer wrote as text"""
_MOST_FINDINGS = 5
_Key = tuple[int | None, str]
"""a sounding and a tool"""


@dataclass(slots=True)
class _Row:
    """Rejections of one tool with one error; what they cost is counted from the second on, None where nobody says."""

    kind: str
    error: str
    said: int
    """a hash of the last result"""
    last: int = -1
    marked: MarkedTurns = field(default_factory=MarkedTurns)
    call: str | None = None
    changed: bool = False
    tokens: int | None = None
    cost: float | None = None
    began: datetime | None = None
    ended: datetime | None = None


class RejectedAgain(Observer):
    def __init__(self, context: RuleContext) -> None:
        super().__init__(context)
        self.rows: dict[_Key, _Row] = {}
        self.long: list[tuple[str, _Row]] = []
        self.calls: dict[_Key, str | None] = {}
        self.spent: dict[int | None, tuple[int | None, float | None]] = {}
        self.passed: dict[int | None, int] = {}
        """where the last result stands that is no rejection"""

    def see(self, turn: TurnView) -> None:
        if turn.kind == "prompt" and (spoken := _spoken.match(turn.raw or "")) is not None:
            turn = turn._replace(kind="tool_result", agent=spoken["tool"], raw=(turn.raw or "")[spoken.end() :])
            self.calls[turn.sounding, turn.agent or ""] = self.calls.get((turn.sounding, ""))
        key = turn.sounding, turn.agent or ""
        if turn.kind == "tool_result":
            self._result(key, turn)
            return
        if turn.kind in MODEL:
            self.calls[key] = turn.raw
            _bound(self.calls)
        if turn.tokens_in is not None or turn.tokens_out is not None or turn.cost is not None:
            has_tokens = turn.tokens_in is not None or turn.tokens_out is not None
            tokens = (turn.tokens_in or 0) + (turn.tokens_out or 0) if has_tokens else None
            self.spent[turn.sounding] = tokens, turn.cost
            _bound(self.spent)

    def end(self) -> Iterator[tuple[MarkedTurns, Detail]]:
        for key in list(self.rows):
            self._close(key)
        for tool, row in sorted(self.long, key=lambda item: -item[1].marked.count)[:_MOST_FINDINGS]:
            seconds = (row.ended - row.began).total_seconds() if row.ended and row.began else None
            about = {"tool": tool, "error": row.error, "times": row.marked.count, "changed": row.changed}
            yield row.marked, about | {"tokens": row.tokens, "cost": row.cost, "seconds": seconds}

    def _result(self, key: _Key, turn: TurnView) -> None:
        tokens, cost = self.spent.pop(turn.sounding, (None, None))
        if not is_rejection(turn):
            self._close(key, passed=True)
            self.passed[turn.sounding] = turn.position
            _bound(self.passed)
            return
        kind = skeleton(turn.raw or "")
        row = self.rows.get(key)
        if row is None or row.kind != kind or self._moves(row, turn):
            self._close(key)
            lines = [line.strip() for line in (turn.raw or "").splitlines() if line.strip()] or [""]
            opening = sum(1 for _ in takewhile(lambda line: line.endswith((":", ">")), lines))
            error = " ".join(lines[: 1 + opening])
            row = self.rows[key] = _Row(kind, error[:200], hash(turn.raw), call=self.calls.get(key), began=turn.sent_at)
            if len(self.rows) > _MOST_ROWS:
                self._close(next(iter(self.rows)))
        else:
            row.changed |= row.call != self.calls.get(key)
            row.tokens = row.tokens if tokens is None else (row.tokens or 0) + tokens
            row.cost = row.cost if cost is None else (row.cost or 0) + cost
            row.ended = turn.sent_at
        row.said, row.last = hash(turn.raw), turn.position
        row.marked.add(turn.position)

    def _moves(self, row: _Row, turn: TurnView) -> bool:
        """Whether other work passed since, and the result is another: fewer tests fail, say."""
        return self.passed.get(turn.sounding, -1) > row.last and hash(turn.raw) != row.said

    def _close(self, key: _Key, *, passed: bool = False) -> None:
        row = self.rows.pop(key, None)
        if row is None or (passed and _passing.search(row.error)):  # to try again was right
            return
        if row.marked.count >= _ENOUGH and len(self.long) < _MOST_ROWS:
            self.long.append((key[1], row))


def _bound(values: dict[Any, Any]) -> None:
    if len(values) > _MOST_ROWS:
        del values[next(iter(values))]


def says(detail: Detail) -> str:
    tool = code(detail["tool"]) if detail["tool"] else "a tool"
    call = "calls that differed" if detail["changed"] else "the same call"
    spent = [
        *([f"{detail['tokens']:,} tokens"] if detail["tokens"] is not None else []),
        *([f"${detail['cost']:.2f}"] if detail["cost"] is not None else []),
        *([_duration(detail["seconds"])] if detail["seconds"] else []),
    ]
    cost = f"; {', '.join(spent)} from the second one on" if spent else ""
    return f"{tool} rejected {call} {detail['times']:,} times with the same error, {code(detail['error'], 120)}{cost}"


def _duration(seconds: float) -> str:
    return f"{seconds / 60:,.0f} minutes" if seconds >= 120 else number(round(seconds), "second")


plugin = Rule("rejected_again", "high", 28, ("response", "tool_call", "tool_result", "prompt"), RejectedAgain, says)
