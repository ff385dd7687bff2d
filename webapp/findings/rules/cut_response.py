"""A response was cut off: its provider says so, or its text ends inside JSON."""

from __future__ import annotations

from webapp.findings.rule import CUT, MODEL, OTHERWISE, Detail, Observer, Rule, RuleContext, TurnView, number


class CutResponses(Observer):
    def __init__(self, context: RuleContext) -> None:
        super().__init__(context)
        self.entry = -1
        self.cut_at = -1
        self.at_limit = self.inside = 0

    def see(self, turn: TurnView) -> None:
        if turn.entry != self.entry:
            self.settle()
            self.entry = turn.entry
        if turn.stop in CUT:
            self.cut_at = turn.position
        elif turn.stop not in OTHERWISE and turn.ours is not None and turn.ours.truncated:
            self.inside += 1
            self.marked.add(turn.position)

    def detail(self) -> Detail:
        return {"said": self.at_limit, "inside": self.inside}

    def settle(self) -> None:
        """An entry whose provider says that it was cut: its last response is the one."""
        if self.cut_at >= 0:
            self.at_limit += 1
            self.marked.add(self.cut_at)
        self.cut_at = -1


def says(detail: Detail) -> str:
    at_limit, inside = detail["said"], detail["inside"]
    count = number(at_limit + inside, "response")
    were = "was" if at_limit + inside == 1 else "were"
    if not inside:
        return f"{count} {were} cut off at the token limit"
    if not at_limit:
        return f"{count} {were} cut off inside {'its' if inside == 1 else 'their'} JSON"
    return f"{count} {were} cut off, {at_limit} of them at the token limit"


plugin = Rule("cut_response", "medium", 70, MODEL, CutResponses, says)
