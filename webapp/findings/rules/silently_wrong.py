"""Your parser's value is a fragment of a larger value, and no error was reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webapp.findings.rule import Detail, Observer, Rule, RuleContext, TurnView, code, number

if TYPE_CHECKING:
    from webapp.parsing.trace import Attempt, Trace


class FragmentValues(Observer):
    def __init__(self, context: RuleContext) -> None:
        super().__init__(context)
        self.broken = 0

    def see(self, turn: TurnView) -> None:
        home, ours = turn.home, turn.ours
        if home is ours or home is None or ours is None or not home.chosen or turn.raw is None:
            return
        if list(home.values) == list(ours.values):
            return
        outer = _outer(turn.raw, home, ours)
        if outer is not None:
            self.marked.add(turn.position)
            self.broken += bool(outer.edits) or outer.outcome == "failed"

    def detail(self) -> Detail:
        return {"responses": self.marked.count, "broken": self.broken, "home": self.home}


def _outer(raw: str, home: Trace, ours: Trace) -> Attempt | None:
    """The value, read or broken, that the home profile's first choice is only a part of."""
    inner = home.attempts[home.chosen[0]].span
    chosen = [ours.attempts[index] for index in ours.chosen]
    for attempt in chosen or [attempt for attempt in ours.attempts if attempt.outcome == "failed"]:
        start, end = attempt.span.start, attempt.span.end
        before = raw[start : min(inner.start, start + 200)]
        if start < inner.start and inner.end <= end and ("[" in before or "{" in before):
            return attempt
    return None


def says(detail: Detail) -> str:
    home = code(detail["home"])
    if detail["responses"] == 1:
        of = "a broken outer one" if detail["broken"] else "a larger one"
        return f"one value that {home} read is only a fragment of {of}"
    of = "broken outer ones" if detail["broken"] else "larger ones"
    return f"{number(detail['responses'], 'value')} that {home} read are only fragments of {of}"


plugin = Rule("silently_wrong", "high", 54, ("response", "tool_call"), FragmentValues, says)
