"""A model answered with nothing at all."""

from __future__ import annotations

from webapp.findings.rule import Detail, Observer, Rule, TurnView, number


class EmptyResponses(Observer):
    def see(self, turn: TurnView) -> None:
        if turn.raw is not None and not turn.raw.strip():
            self.marked.add(turn.position)

    def detail(self) -> Detail:
        return {"responses": self.marked.count}


def says(detail: Detail) -> str:
    return f"{number(detail['responses'], 'response')} had no text"


plugin = Rule("empty_response", "medium", 65, ("response",), EmptyResponses, says)
