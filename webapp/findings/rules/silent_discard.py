"""The response contained valid JSON, and your parser discarded it."""

from __future__ import annotations

from collections import Counter

from webapp.findings.rule import Detail, Observer, Rule, RuleContext, TurnView, code, number


class SilentDiscards(Observer):
    def __init__(self, context: RuleContext) -> None:
        super().__init__(context)
        self.reasons: Counter[str] = Counter()

    def see(self, turn: TurnView) -> None:
        home, ours = turn.home, turn.ours
        if home is ours or home is None or ours is None or home.verdict != "failed":
            return
        has_json = any(value and isinstance(value, dict | list) for value in ours.values)
        if has_json and ours.verdict in ("clean", "extracted"):
            self.marked.add(turn.position)
            last = next((attempt for attempt in reversed(home.attempts) if attempt.outcome == "failed"), None)
            if last is not None and len(self.reasons) < 100:
                message = last.error.message.removesuffix(" at") if last.error else last.reason or ""
                self.reasons[message[:120]] += 1

    def detail(self) -> Detail:
        reason = next((name for name, _ in self.reasons.most_common(1)), "")
        return {"responses": self.marked.count, "home": self.home, "reason": reason}


def says(detail: Detail) -> str:
    responses = number(detail["responses"], "response")
    because = f" ({code(detail['reason'])})" if detail["reason"] else ""
    return f"{responses} held valid JSON that {code(detail['home'])} threw away{because}"


plugin = Rule("silent_discard", "high", 52, ("response", "tool_call"), SilentDiscards, says)
