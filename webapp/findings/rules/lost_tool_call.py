"""A tool call was written as text, no parser of the session read it, and no result came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from webapp.findings.base import About, Detail, Marks, Rule, Seen
from webapp.findings.calls import Tracker, Written
from webapp.findings.words import code, defects, number


class Watch:
    def __init__(self, about: About) -> None:
        self.home = about.home
        self.tracker = Tracker(about.home)
        self.native = False
        self.lost: list[Written] = []
        self.marks = Marks()
        self.calls = 0
        self.ran = 0
        self.repairs: Counter[str] = Counter()

    def see(self, turn: Seen) -> None:
        if turn.kind == "tool_call":
            self.native = True
        elif turn.kind == "tool_result":
            self.ran += 1
        written = self.tracker.see(turn)
        if written is not None:
            self._take(written)

    def end(self) -> Iterator[tuple[Marks, Detail]]:
        for written in self.tracker.rest():
            self._take(written)
        for written in self.lost if self.native else ():
            self._count(written)
        if self.marks:
            repairs = [name for name, _ in self.repairs.most_common()]
            yield self.marks, {"calls": self.calls, "ran": self.ran, "repairs": repairs, "home": self.home}

    def _take(self, written: Written) -> None:
        """Calls that the home profile reads are only lost in a session whose other calls are native."""
        if written.sure:
            self._count(written)
        elif len(self.lost) < 200:
            self.lost.append(written)

    def _count(self, written: Written) -> None:
        self.marks.add(written.position)
        self.calls += written.lost
        self.repairs.update(set(written.repairs))


def says(detail: Detail) -> str:
    calls, ran = detail["calls"], detail["ran"]
    why = defects(detail["repairs"])
    why = f": {why}" if why else f": {code(detail['home'])} passed over {'it' if calls == 1 else 'them'}"
    if ran:
        return f"{calls} of {number(calls + ran, 'tool call')} that were written never ran{why}"
    return (
        f"{number(calls, 'tool call')} {'was written and never ran' if calls == 1 else 'were written, none ran'}{why}"
    )


plugin = Rule("lost_tool_call", "high", 10, ("response", "tool_call", "tool_result", "prompt"), Watch, says)
