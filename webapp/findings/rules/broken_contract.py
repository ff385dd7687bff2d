"""A call or an answer that came whole breaks what its own request declares."""

from __future__ import annotations

from webapp.findings.rule import CUT, MODEL, Detail, Observer, Rule, RuleContext, TurnView, code, number


class BrokenContracts(Observer):
    def __init__(self, context: RuleContext) -> None:
        super().__init__(context)
        self.first: tuple[str, str, str] | None = None
        self.calls = 0
        self.others = False

    def see(self, turn: TurnView) -> None:
        contract = turn.contract
        if contract is None or not contract.is_broken or turn.stop in CUT:
            return
        self.marked.add(turn.position)
        self.calls += turn.kind == "tool_call"
        message = next((mismatch.message for mismatch in contract.mismatches), "")
        first = contract.tool or "", contract.state, message
        self.others |= self.first is not None and self.first[:2] != first[:2]
        self.first = self.first or first

    def detail(self) -> Detail:
        tool, state, message = self.first or ("", "", "")
        return {"calls": self.calls, "tool": tool, "state": state, "message": message, "others": self.others}


def says(detail: Detail) -> str:
    count, message = detail["turns"], detail["message"]
    noun = "call" if detail["calls"] == count else "answer" if not detail["calls"] else "response"
    broke = {"unknown_name": "named no declared tool", "invalid_json": "was no JSON"}
    breach = "broke what the request declares" if detail["others"] else broke.get(detail["state"], _MISFIT)
    tool = f" of {code(detail['tool'])}" if detail["tool"] and not detail["others"] else ""
    first = "first, " if count > 1 else ""
    return f"{number(count, noun)}{tool} {breach}: {first}{message}"


_MISFIT = "did not fit what the request declares"
plugin = Rule("broken_contract", "high", 13, MODEL, BrokenContracts, says)
