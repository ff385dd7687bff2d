"""A tool call was written as text, your parser did not read it, and no result followed."""

from __future__ import annotations

from collections import Counter

from webapp.findings.rule import Detail, Observer, Rule, RuleContext, TurnView, code, defects, number
from webapp.findings.tool_calls import WrittenCalls


class LostToolCalls(Observer):
    def __init__(self, context: RuleContext) -> None:
        super().__init__(context)
        self.unsure: list[WrittenCalls] = []
        self.calls = self.ran = self.declared = 0
        self.repairs: Counter[str] = Counter()

    def see(self, turn: TurnView) -> None:
        if turn.kind == "tool_result":
            self.ran += 1
        if self.context.calls.lost is not None:
            self._take(self.context.calls.lost)

    def settle(self) -> None:
        for written in self.context.calls.rest():
            self._take(written)
        for written in self.unsure if self.context.calls.native else ():
            self._count(written)

    def detail(self) -> Detail:
        repairs = [name for name, _ in self.repairs.most_common()]
        declared = {"declared": True} if self.declared == self.calls else {}
        return {"calls": self.calls, "ran": self.ran, "repairs": repairs, "home": self.home} | declared

    def _take(self, written: WrittenCalls) -> None:
        """Calls that the home profile reads are only lost in a session whose other calls are native."""
        if written.sure:
            self._count(written)
        elif len(self.unsure) < 200:
            self.unsure.append(written)

    def _count(self, written: WrittenCalls) -> None:
        self.marked.add(written.position)
        self.calls += written.lost
        self.declared += written.lost if written.declared else 0
        self.repairs.update(set(written.repairs))


def says(detail: Detail) -> str:
    calls, ran = detail["calls"], detail["ran"]
    why = defects(detail["repairs"])
    if detail.get("declared"):
        why = f"the request declares {'its tool' if calls == 1 else 'their tools'}, and no native call came"
    elif detail["home"] == "native":
        why = "this program reads no calls from text"
    elif not why and detail["home"] not in ("unknown", "fencepost"):
        why = f"{code(detail['home'])} passed over {'it' if calls == 1 else 'them'}"
    why = f": {why}" if why else ""
    if ran:
        return f"{calls} of {number(calls + ran, 'tool call')} that were written never ran{why}"
    were = "was written and never ran" if calls == 1 else "were written, none ran"
    return f"{number(calls, 'tool call')} {were}{why}"


plugin = Rule("lost_tool_call", "high", 10, ("response", "tool_call", "tool_result", "prompt"), LostToolCalls, says)
