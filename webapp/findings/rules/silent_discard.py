"""Valid JSON stood in the response, and the home profile threw it away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from webapp.findings.base import About, Detail, Marks, Rule, Seen
from webapp.findings.words import code, number


class Watch:
    def __init__(self, about: About) -> None:
        self.home = about.home
        self.marks = Marks()
        self.reasons: Counter[str] = Counter()

    def see(self, turn: Seen) -> None:
        home, ours = turn.home, turn.ours
        if home is ours or home is None or ours is None or home.verdict != "failed":
            return
        if ours.verdict in ("clean", "extracted") and any(
            value and isinstance(value, (dict, list)) for value in ours.values
        ):
            self.marks.add(turn.position)
            failed = next((attempt for attempt in reversed(home.attempts) if attempt.outcome == "failed"), None)
            if failed is not None and len(self.reasons) < 100:
                said = failed.error.message.removesuffix(" at") if failed.error else failed.reason or ""
                self.reasons[said[:120]] += 1

    def end(self) -> Iterator[tuple[Marks, Detail]]:
        if self.marks:
            reasons = [name for name, _ in self.reasons.most_common(1)]
            yield (
                self.marks,
                {"responses": self.marks.count, "home": self.home, "reason": reasons[0] if reasons else ""},
            )


def says(detail: Detail) -> str:
    held = number(detail["responses"], "response")
    because = f" ({code(detail['reason'])})" if detail["reason"] else ""
    return f"{held} held valid JSON that {code(detail['home'])} threw away{because}"


plugin = Rule("silent_discard", "high", 52, ("response", "tool_call"), Watch, says)
