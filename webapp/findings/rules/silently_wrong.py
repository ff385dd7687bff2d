"""The home profile's value is an inner fragment of a larger value, and nobody was told."""

from __future__ import annotations

from collections.abc import Iterator

from webapp.findings.base import About, Detail, Marks, Read, Rule, Seen, Tried
from webapp.findings.words import code, number


class Watch:
    def __init__(self, about: About) -> None:
        self.home = about.home
        self.marks = Marks()
        self.broken = 0

    def see(self, turn: Seen) -> None:
        home, ours = turn.home, turn.ours
        if home is ours or home is None or ours is None or not home.chosen or turn.raw is None:
            return
        if list(home.values) == list(ours.values):
            return
        outer = _outer(turn.raw, home, ours)
        if outer is not None:
            self.marks.add(turn.position)
            self.broken += bool(outer.edits) or outer.outcome == "failed"

    def end(self) -> Iterator[tuple[Marks, Detail]]:
        if self.marks:
            yield self.marks, {"responses": self.marks.count, "broken": self.broken, "home": self.home}


def _outer(raw: str, home: Read, ours: Read) -> Tried | None:
    """The value, read or broken, that the home profile's first choice is only a part of."""
    inner = home.attempts[home.chosen[0]].span
    tried = [ours.attempts[index] for index in ours.chosen] or [
        each for each in ours.attempts if each.outcome == "failed"
    ]
    for attempt in tried:
        start, end = attempt.span.start, attempt.span.end
        if (
            start < inner.start
            and inner.end <= end
            and any(mark in raw[start : min(inner.start, start + 200)] for mark in "[{")
        ):
            return attempt
    return None


def says(detail: Detail) -> str:
    home = code(detail["home"])
    if detail["responses"] == 1:
        of = "a broken outer one" if detail["broken"] else "a larger one"
        return f"one value that {home} read is only a fragment of {of}"
    of = "broken outer ones" if detail["broken"] else "larger ones"
    return f"{number(detail['responses'], 'value')} that {home} read are only fragments of {of}"


plugin = Rule("silently_wrong", "high", 54, ("response", "tool_call"), Watch, says)
