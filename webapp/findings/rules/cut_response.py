"""A response was cut off: its provider says so, or its text ends inside JSON."""

from __future__ import annotations

from webapp.findings.rule import CUT, MODEL, OTHERWISE, Detail, Observer, Rule, RuleContext, TurnView, number


class CutResponses(Observer):
    def __init__(self, context: RuleContext) -> None:
        super().__init__(context)
        self.entry = -1
        self.cut_at = -1
        self.is_dropped = False
        self.at_limit = self.dropped = self.inside = 0

    def see(self, turn: TurnView) -> None:
        if turn.entry != self.entry:
            self.settle()
            self.entry = turn.entry
        if turn.stop in CUT:
            self.cut_at, self.is_dropped = turn.position, turn.stop == "dropped"
        elif turn.stop not in OTHERWISE and turn.ours is not None and turn.ours.truncated:
            self.inside += 1
            self.marked.add(turn.position)

    def detail(self) -> Detail:
        return {"said": self.at_limit, "inside": self.inside, "dropped": self.dropped}

    def settle(self) -> None:
        """An entry whose provider says that it was cut: its last response is the one."""
        if self.cut_at >= 0:
            self.dropped += self.is_dropped
            self.at_limit += not self.is_dropped
            self.marked.add(self.cut_at)
        self.cut_at = -1


def says(detail: Detail) -> str:
    cut = sum(detail.get(key, 0) for key in ("said", "inside", "dropped"))
    were, its = ("was", "its") if cut == 1 else ("were", "their")
    where = {"said": "at the token limit", "inside": f"inside {its} JSON"}
    where["dropped"] = f"as {its} stream ended before the answer did"
    told = [(times, words) for key, words in where.items() if (times := detail.get(key, 0))]
    words = told[0][1] if len(told) == 1 else ", ".join(f"{times:,} of them {words}" for times, words in told[:-1])
    return f"{number(cut, 'response')} {were} cut off{' ' if len(told) == 1 else ', '}{words}"


plugin = Rule("cut_response", "medium", 70, MODEL, CutResponses, says)
