"""A response was cut off: its provider says so, or its text ends inside JSON."""

from __future__ import annotations

from collections.abc import Iterator

from webapp.findings.base import About, Detail, Marks, Rule, Seen
from webapp.findings.facts import CUT
from webapp.findings.words import number

_MODEL = ("response", "tool_call")


class Watch:
    def __init__(self, about: About) -> None:
        self.marks = Marks()
        self.entry = -1
        self.cut_at = -1
        self.said = self.inside = 0

    def see(self, turn: Seen) -> None:
        if turn.entry != self.entry:
            self._settle()
            self.entry = turn.entry if turn.finish in CUT else -1
        written = turn.kind in _MODEL
        if written and turn.entry == self.entry:
            self.cut_at = turn.position
        elif written and turn.ours is not None and turn.ours.truncated:
            self.inside += 1
            self.marks.add(turn.position)

    def end(self) -> Iterator[tuple[Marks, Detail]]:
        self._settle()
        if self.marks:
            yield self.marks, {"said": self.said, "inside": self.inside}

    def _settle(self) -> None:
        """An entry whose provider says that it was cut: its last response is the one."""
        if self.cut_at >= 0:
            self.said += 1
            self.marks.add(self.cut_at)
        self.cut_at = -1


def says(detail: Detail) -> str:
    said, inside = detail["said"], detail["inside"]
    count = number(said + inside, "response")
    were = "was" if said + inside == 1 else "were"
    if not inside:
        return f"{count} {were} cut off at the token limit"
    if not said:
        return f"{count} {were} cut off inside {'its' if inside == 1 else 'their'} JSON"
    return f"{count} {were} cut off, {said} of them at the token limit"


plugin = Rule("cut_response", "medium", 70, ("response", "tool_call", "prompt", "event"), Watch, says)
