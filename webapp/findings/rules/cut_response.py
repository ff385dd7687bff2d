"""A response was cut off: its provider says so, or its text ends inside JSON."""

from __future__ import annotations

from collections import Counter

from webapp.findings.rule import CUT, MODEL, OTHERWISE, Detail, Observer, Rule, RuleContext, TurnView, number


class CutResponses(Observer):
    def __init__(self, context: RuleContext) -> None:
        super().__init__(context)
        self.entry = -1
        self.cut: tuple[int, str] | None = None
        self.how = Counter[str]()

    def see(self, turn: TurnView) -> None:
        if turn.entry != self.entry:
            self.settle()
            self.entry = turn.entry
        if turn.stop in CUT:
            self.cut = turn.position, "dropped" if turn.stop == "dropped" else "said"
        elif turn.stop not in OTHERWISE and turn.ours is not None and turn.ours.truncated:
            self.how["inside"] += 1
            self.marked.add(turn.position)

    def detail(self) -> Detail:
        return dict(self.how)

    def settle(self) -> None:
        """An entry whose provider says that it was cut: its last response is the one."""
        if self.cut is not None:
            self.how[self.cut[1]] += 1
            self.marked.add(self.cut[0])
        self.cut = None


def says(detail: Detail) -> str:
    were, its = ("was", "its") if detail["turns"] == 1 else ("were", "their")
    where = {"said": "at the token limit", "inside": f"inside {its} JSON"}
    where["dropped"] = f"as {its} stream ended before the answer did"
    told = [(detail[key], words) for key, words in where.items() if detail.get(key)]
    first, *others = told
    words = f", {first[0]:,} of them {first[1]}" if others else f" {first[1]}"
    return f"{number(sum(times for times, _ in told), 'response')} {were} cut off{words}"


plugin = Rule("cut_response", "medium", 70, MODEL, CutResponses, says)
