"""Output tokens were billed, and neither a text nor a call arrived."""

from __future__ import annotations

from typing import NamedTuple

from webapp.findings.rule import EVERY_KIND, MODEL, OTHERWISE, Detail, Observer, Rule, RuleContext, TurnView, number
from webapp.findings.tool_calls import looks_like_call, named_calls

_PLACEHOLDERS = ("(no content)", "(empty content)", "(empty response)", "(empty)")
"""what programs write where a model wrote nothing; before the end of an answer, where it wrote nothing yet"""


class _Empty(NamedTuple):
    position: int
    tokens: int
    stop: str | None
    is_thought: bool


class BilledButEmpty(Observer):
    def __init__(self, context: RuleContext) -> None:
        super().__init__(context)
        self.entry = -1
        self.reasoning: int | None = None
        self.said = self.thinks = self.thinks_call = False
        self.empty: _Empty | None = None
        self.tokens = self.thought = self.thought_alone = self.no_call = 0

    def see(self, turn: TurnView) -> None:
        is_thought = turn.kind == "event" and turn.role == "thinking"
        if turn.entry != self.entry:
            is_more = turn.kind in MODEL and (turn.raw or turn.tool_calls or turn.tokens_out)
            if is_more and self.empty is not None and turn.tokens_out in (None, self.empty.tokens):
                self.empty = None  # one answer, logged in several entries
            if not (is_thought and self.empty is not None and self.empty.is_thought):  # it goes on to think
                self.settle()
            self.entry, self.reasoning = turn.entry, None
            self.thinks = self.said = self.thinks_call = False
        if is_thought:
            self.thinks, raw = True, (turn.raw or "").rstrip()
            self.thinks_call |= raw.endswith((">", "}", "]")) and (looks_like_call(raw) or bool(named_calls(raw)))
        if turn.reasoning is not None:
            self.reasoning = turn.reasoning
        if is_thought and turn.tokens_out and turn.stop == "complete":
            self.empty = _Empty(turn.position, turn.tokens_out, turn.stop, is_thought)
        if turn.kind not in MODEL:
            return
        nothing = ("", *_PLACEHOLDERS) if turn.stop == "complete" else ("",)
        if turn.kind == "tool_call" or turn.tool_calls or (turn.raw or "").strip() not in nothing:
            self.said = True
        elif turn.tokens_out and turn.stop not in OTHERWISE and turn.failure is None:
            self.empty = _Empty(turn.position, turn.tokens_out, turn.stop, is_thought)

    def settle(self) -> None:
        """An entry is over: whether it was empty shows now."""
        if self.empty is not None and not self.said:
            counted = self.empty.tokens if self.thinks else 0  # what was thought is there, and nothing else
            thought = counted if self.reasoning is None else self.reasoning
            self.marked.add(self.empty.position)
            self.tokens += self.empty.tokens
            self.thought += thought
            self.thought_alone += thought >= self.empty.tokens
            self.no_call += self.empty.stop == "tool_call" or self.thinks_call
        self.empty = None

    def detail(self) -> Detail:
        return {"tokens": self.tokens, "thought": self.thought, "alone": self.thought_alone, "no_call": self.no_call}


def says(detail: Detail) -> str:
    count, tokens = detail["turns"], number(detail["tokens"], "token")
    where = "" if count == 1 else f" in {count:,} responses"
    no_call = "; it was about to call a tool, and no call arrived" if count == detail["no_call"] else ""
    if detail["alone"] == count:
        return f"{tokens} billed{where}, reasoning alone, no answer{no_call}"
    thought = f", {detail['thought']:,} of them for reasoning" if detail["thought"] else ""
    return f"{tokens} billed{thought}, nothing arrived{where}{no_call}"


plugin = Rule("billed_but_empty", "high", 26, EVERY_KIND, BilledButEmpty, says)
