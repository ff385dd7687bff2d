"""Three or more errors in a row were sent back to the agent, without an accepted answer between them."""

from __future__ import annotations

from dataclasses import dataclass, field

from webapp.findings.rule import Detail, Observer, Rule, RuleContext, TurnView, number
from webapp.findings.tool_calls import is_validation_error

_ENOUGH = 3
_MOST_BRANCHES = 1000


@dataclass(slots=True)
class _Row:
    """The errors in a row of one sounding; `answered` says whether the last response got one."""

    errors: list[int] = field(default_factory=list)
    logged: int = 0
    answered: bool = True


class ErrorStorms(Observer):
    def __init__(self, context: RuleContext) -> None:
        super().__init__(context)
        self.rows: dict[int | None, _Row] = {}
        self.errors = self.logged = self.longest = self.row_count = 0

    def see(self, turn: TurnView) -> None:
        if turn.kind == "error":
            if turn.answers is not None:
                self._error(turn, turn.answers)
        elif turn.kind == "tool_result":
            if is_validation_error(turn):
                self._error(turn, turn.position)
            elif (row := self.rows.get(turn.sounding)) is not None:
                self._close(row)
        elif turn.kind == "again":
            if turn.role != "response" and (row := self.rows.get(turn.sounding)) is not None and row.errors:
                row.logged += 1
        elif turn.kind == "response" and (row := self.rows.get(turn.sounding)) is not None:
            if not row.answered:
                self._close(row)
            row.answered = False

    def settle(self) -> None:
        for row in self.rows.values():
            self._close(row)

    def detail(self) -> Detail:
        return {"errors": self.errors, "logged": self.logged, "rows": self.row_count, "longest": self.longest}

    def _error(self, turn: TurnView, answers: int) -> None:
        row = self.rows.get(turn.sounding)
        if row is None:
            if len(self.rows) >= _MOST_BRANCHES:
                self._close(self.rows.pop(next(iter(self.rows))))
            row = self.rows[turn.sounding] = _Row()
        row.answered = True
        row.errors.append(answers)
        row.logged += 1

    def _close(self, row: _Row) -> None:
        """End a row; where it was long enough, it counts."""
        if len(row.errors) >= _ENOUGH:
            for position in dict.fromkeys(row.errors):
                self.marked.add(position)
            self.errors += len(row.errors)
            self.logged += row.logged
            self.row_count += 1
            self.longest = max(self.longest, len(row.errors))
        row.errors = []
        row.logged = 0


def says(detail: Detail) -> str:
    errors, logged = detail["errors"], detail["logged"]
    clause = f"{number(errors, 'validation error')}"
    clause += " in a row" if detail["rows"] == 1 else f", longest run {detail['longest']}"
    if logged == 2 * errors:
        return f"{clause}; each logged twice"
    return clause + (f"; logged as {logged:,} entries" if logged > errors else "")


plugin = Rule("validation_storm", "high", 30, ("response", "error", "again", "tool_result"), ErrorStorms, says)
