"""The same model failed repeatedly in the same way."""

from __future__ import annotations

import re
from collections.abc import Iterator

from webapp.findings.rule import Detail, MarkedTurns, Observer, Rule, RuleContext, TurnView, code, defects, number

_ENOUGH = 2
_MOST_KINDS = 200
_MOST_KEPT = 32
_place = re.compile(r":? (?:at )?line \d+.*", re.DOTALL)
_numbers = re.compile(r"\d+")

_Kind = tuple[str, str]
"""who failed, and how"""


class RecurringFailures(Observer):
    def __init__(self, context: RuleContext) -> None:
        super().__init__(context)
        self.kinds: dict[_Kind, MarkedTurns] = {}
        self.recent: dict[int, TurnView] = {}

    def see(self, turn: TurnView) -> None:
        if turn.kind == "error":
            before = self.recent.pop(turn.answers, None) if turn.answers is not None else None
            if before is not None:
                self._fail(before, turn.raw or turn.failure)
        elif turn.failed:
            self._fail(turn, turn.failure)
        elif turn.raw is not None:
            self.recent[turn.position] = turn
            if len(self.recent) > _MOST_KEPT:
                del self.recent[next(iter(self.recent))]

    def end(self) -> Iterator[tuple[MarkedTurns, Detail]]:
        often = [item for item in self.kinds.items() if item[1].count >= _ENOUGH]
        for (who, how), marks in sorted(often, key=lambda item: -item[1].count)[:5]:
            yield marks, {"who": who, "how": how, "times": marks.count}

    def _fail(self, turn: TurnView, message: str | None) -> None:
        kind = (turn.model or turn.agent or turn.role or "", _how(turn, message))
        marks = self.kinds.get(kind)
        if marks is None:
            if len(self.kinds) >= _MOST_KINDS:
                return
            marks = self.kinds[kind] = MarkedTurns()
        marks.add(turn.position)


def _how(turn: TurnView, message: str | None) -> str:
    """The kind of a failure: what would mend it, else the decoder's words without their place."""
    ours = turn.ours
    if ours is not None and ours.chosen:
        mended = dict.fromkeys(edit.repair for index in ours.chosen for edit in ours.attempts[index].edits)
        if mended:
            return defects(sorted(mended), most=9)
    if message is None and turn.home is not None:
        errors = (attempt.error for attempt in reversed(turn.home.attempts))
        message = next((error.message.removesuffix(" at") for error in errors if error is not None), None)
    line = _place.sub("", (message or "no reason given").strip().partition("\n")[0])
    return _numbers.sub("0", line)[:120]


def says(detail: Detail) -> str:
    who = code(detail["who"]) if detail["who"] else "the model"
    return f"{who} failed {number(detail['times'], 'time')} in the same way: {detail['how'].replace('`', '')}"


plugin = Rule("same_failure_again", "low", 80, ("response", "tool_call", "error"), RecurringFailures, says)
