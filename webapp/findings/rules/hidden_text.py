"""A text contains invisible words: in tag characters, variation selectors or zero-width characters."""

from __future__ import annotations

from webapp.findings.rule import EVERY_KIND, Detail, Observer, Rule, RuleContext, TurnView, code, number
from webapp.visible import hidden_texts

_LONGEST = 400
"""Characters of the decoded text that the detail keeps."""


class HiddenTexts(Observer):
    def __init__(self, context: RuleContext) -> None:
        super().__init__(context)
        self.first: Detail = {}

    def see(self, turn: TurnView) -> None:
        hidden = next(hidden_texts(turn.raw or ""), None)
        if hidden is None:
            return
        self.marked.add(turn.position)
        words = {"written_in": hidden.written_in, "says": hidden.says[:_LONGEST]}
        self.first = self.first or {**words, "characters": hidden.end - hidden.start, "at": hidden.start}

    def detail(self) -> Detail:
        return {**self.first, "texts": self.marked.count}


def says(detail: Detail) -> str:
    words = f"{code(detail['says'])} in" if detail["says"] else f"{detail['characters']:,}"
    hides = "hides" if detail["texts"] == 1 else "hide"
    return f"{number(detail['texts'], 'text')} {hides} {words} {detail['written_in']} that no reader sees"


plugin = Rule("hidden_text", "high", 15, EVERY_KIND, HiddenTexts, says)
