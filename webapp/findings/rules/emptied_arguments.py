"""The arguments of a tool call could not be parsed, became `{}`, and the tool ran with them."""

from __future__ import annotations

from dataclasses import dataclass

from webapp.findings.rule import CUT, Detail, Observer, Rule, RuleContext, TurnView, code, number

_MOST_BRANCHES = 1000
_LOOKED_AT = 100_000


@dataclass(slots=True)
class MalformedText:
    """The malformed text of one sounding since its last result, and the empty call that came of it."""

    position: int | None = None
    raw: str = ""
    empty: int | None = None
    tool: str = ""


class EmptiedArguments(Observer):
    def __init__(self, context: RuleContext) -> None:
        super().__init__(context)
        self.open: dict[int | None, MalformedText] = {}
        self.calls = 0
        self.tool = ""

    def see(self, turn: TurnView) -> None:
        branch = turn.sounding
        if turn.kind == "tool_result":
            self._ran(self.open.pop(branch, None))
        elif turn.kind == "tool_call" and turn.ours is not None and list(turn.ours.values) == [{}]:
            written = self.open.get(branch) or MalformedText()
            if turn.stop in CUT or names(written, turn.agent):
                self._keep(branch, MalformedText(written.position, written.raw, turn.position, turn.agent or ""))
        elif turn.ours is not None and turn.ours.verdict in ("failed", "repaired"):
            self._keep(branch, MalformedText(turn.position, (turn.raw or "")[:_LOOKED_AT], tool=turn.agent or ""))
        else:
            self.open.pop(branch, None)

    def detail(self) -> Detail:
        return {"calls": self.calls, "tool": self.tool}

    def _keep(self, branch: int | None, written: MalformedText) -> None:
        if branch in self.open or len(self.open) < _MOST_BRANCHES:
            self.open[branch] = written

    def _ran(self, written: MalformedText | None) -> None:
        if written is None or written.empty is None:
            return
        self.calls += 1
        self.tool = self.tool or written.tool
        if written.position is not None:
            self.marked.add(written.position)
        self.marked.add(written.empty)


def names(written: MalformedText, tool: str | None) -> bool:
    """Whether a malformed text is of a call of this tool, or of a call whose name the log leaves out."""
    return bool(written.raw) and (not tool or written.tool == tool or tool in written.raw)


def says(detail: Detail) -> str:
    tool = f" of {code(detail['tool'])}" if detail["tool"] else ""
    if detail["calls"] == 1:
        return f"the arguments of one call{tool} could not be parsed and became `{{}}`, and the tool ran"
    calls = number(detail["calls"], "call")
    return f"the arguments of {calls} could not be parsed and became `{{}}`, and the tools ran"


plugin = Rule(
    "emptied_arguments", "high", 14, ("response", "tool_call", "tool_result", "prompt"), EmptiedArguments, says
)
