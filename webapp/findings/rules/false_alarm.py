"""Errors about JSON were sent to an agent whose text contained no JSON meant as a call."""

from __future__ import annotations

import re

from webapp.findings.rule import Detail, Observer, Rule, RuleContext, TurnView, number

_MOST_KEPT = 256
_decoding = re.compile(
    r"json|tool[ _]?call|expecting|extra data|unterminated|invalid control|property name|delimiter", re.IGNORECASE
)
_missing = re.compile(r"required|missing|schema|must|should|no json|not? found|empty", re.IGNORECASE)


class FalseAlarms(Observer):
    def __init__(self, context: RuleContext) -> None:
        super().__init__(context)
        self.plain: dict[int, None] = {}
        self.errors = 0
        self.last = -1

    def see(self, turn: TurnView) -> None:
        if turn.kind == "response":
            self._remember(turn)
        elif turn.answers in self.plain and _is_about_json(turn.raw or turn.failure or ""):
            self.errors += 1
            if turn.answers is not None and self.last != turn.answers:
                self.last = turn.answers
                self.marked.add(turn.answers)

    def detail(self) -> Detail:
        return {"errors": self.errors, "responses": self.marked.count}

    def _remember(self, turn: TurnView) -> None:
        """Keep the position of a response in which brackets were looked at and none was meant as JSON."""
        ours = turn.ours
        if ours is None or ours.verdict != "none":
            return
        if next((attempt.reason for attempt in ours.attempts if attempt.outcome == "rejected"), None) is not None:
            self.plain[turn.position] = None
            if len(self.plain) > _MOST_KEPT:
                del self.plain[next(iter(self.plain))]


def _is_about_json(error: str) -> bool:
    """Whether an error complains of JSON that could not be decoded, not of JSON that is missing."""
    first_line = error[:400].partition("\n")[0]
    return _decoding.search(first_line) is not None and _missing.search(first_line) is None


def says(detail: Detail) -> str:
    errors, responses = detail["errors"], detail["responses"]
    texts = "a text" if responses == 1 else "texts" if responses == errors else f"{responses:,} texts"
    sent = f"{number(errors, 'error')} about JSON {'was' if errors == 1 else 'were'} sent back"
    return f"{sent} for {texts} that held no JSON meant as a call"


plugin = Rule("false_alarm", "high", 40, ("response", "error"), FalseAlarms, says)
