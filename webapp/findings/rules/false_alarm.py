"""Errors about JSON were sent to an agent whose text held no JSON meant as a call."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator

from webapp.findings.base import About, Detail, Marks, Rule, Seen
from webapp.findings.words import number

_MOST_KEPT = 256
_decoding = re.compile(
    r"json|tool[ _]?call|expecting|extra data|unterminated|invalid control|property name|delimiter", re.IGNORECASE
)
_wanted = re.compile(r"required|missing|schema|must|should|no json|not? found|empty", re.IGNORECASE)


class Watch:
    def __init__(self, about: About) -> None:
        self.plain: OrderedDict[int, str] = OrderedDict()
        self.marks = Marks()
        self.errors = 0
        self.last = -1

    def see(self, turn: Seen) -> None:
        if turn.kind == "response":
            self._remember(turn)
        elif turn.answers in self.plain and _is_about_json(turn.raw or turn.failure or ""):
            self.errors += 1
            if turn.answers is not None and self.last != turn.answers:
                self.last = turn.answers
                self.marks.add(turn.answers)

    def end(self) -> Iterator[tuple[Marks, Detail]]:
        if self.marks:
            yield self.marks, {"errors": self.errors, "responses": self.marks.count}

    def _remember(self, turn: Seen) -> None:
        """Keep the position of a response in which brackets were looked at and none was meant as JSON."""
        ours = turn.ours
        if ours is None or ours.verdict != "none":
            return
        reason = next((attempt.reason for attempt in ours.attempts if attempt.outcome == "rejected"), None)
        if reason is not None:
            self.plain[turn.position] = reason
            if len(self.plain) > _MOST_KEPT:
                self.plain.popitem(last=False)


def _is_about_json(error: str) -> bool:
    """Whether an error complains of JSON that could not be decoded, not of JSON that is missing."""
    said = error[:400].partition("\n")[0]
    return _decoding.search(said) is not None and _wanted.search(said) is None


def says(detail: Detail) -> str:
    errors, responses = detail["errors"], detail["responses"]
    what = "a text" if responses == 1 else "texts" if responses == errors else f"{responses:,} texts"
    sent = f"{number(errors, 'error')} about JSON {'was' if errors == 1 else 'were'} sent back"
    return f"{sent} for {what} that held no JSON meant as a call"


plugin = Rule("false_alarm", "high", 40, ("response", "error"), Watch, says)
