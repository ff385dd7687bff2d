"""Several JSON values in one response became one: two calls in one text of arguments, or objects merged by a parser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webapp.findings.rule import Detail, Observer, Rule, RuleContext, TurnView, code, number

if TYPE_CHECKING:
    from webapp.parsing.trace import Trace


class MergedValues(Observer):
    def __init__(self, context: RuleContext) -> None:
        super().__init__(context)
        self.values = 0
        self.calls = 0

    def see(self, turn: TurnView) -> None:
        ours = turn.ours
        if ours is None:
            return
        containers = [value for value in ours.values if isinstance(value, dict | list)]
        if len(containers) < 2:
            return
        if turn.kind == "tool_call":
            merged = len(containers) == len(ours.values)
            self.calls += merged
        else:
            home = turn.home
            merged = home is not None and home is not ours and len(home.values) == 1 and _merges(home, ours, containers)
        if merged:
            self.values += len(containers)
            self.marked.add(turn.position)

    def detail(self) -> Detail:
        return {"responses": self.marked.count, "calls": self.calls, "values": self.values, "home": self.home}


def _merges(home: Trace, ours: Trace, containers: list[Any]) -> bool:
    """Whether the one value of the home profile was read from a stretch of several, or holds what several hold."""
    if home.values[0] == containers:
        return False  # a list of all of them: nothing is lost
    span = home.attempts[home.chosen[0]].span
    inner = [ours.attempts[index].span for index in ours.chosen]
    covered = sum(span.start <= inner_span.start and inner_span.end <= span.end for inner_span in inner)
    return covered > 1 or _is_union(home.values[0], containers)


def _is_union(value: Any, containers: list[Any]) -> bool:
    """Whether `value` has keys that only the one and keys that only another of the objects has."""
    objects = [source for source in containers if isinstance(source, dict)]
    if not isinstance(value, dict) or value in containers:
        return False
    sources = [set(source) & set(value) for source in objects if set(source) & set(value)]
    return len(sources) > 1 and set(value) <= set().union(*sources) and all(set(value) - keys for keys in sources)


def says(detail: Detail) -> str:
    values = number(detail["values"], "JSON value")
    if detail["calls"] == detail["responses"]:
        calls = "one call" if detail["calls"] == 1 else f"{detail['calls']:,} calls"
        return f"{values} stand in the arguments of {calls}: parallel calls were merged"
    responses = number(detail["responses"], "response")
    became = "became one" if detail["responses"] == 1 else "became one each"
    return f"{values} in {responses} {became} under {code(detail['home'])}"


plugin = Rule("merged_values", "high", 56, ("response", "tool_call"), MergedValues, says)
