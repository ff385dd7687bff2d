"""Three or more errors in a row were sent back to the agent, with no answer between them that passed."""

from __future__ import annotations

from collections.abc import Iterator

from webapp.findings.base import About, Detail, Marks, Rule, Seen
from webapp.findings.words import number

_ENOUGH = 3
_MOST_BRANCHES = 1000


class _Row:
    """The errors in a row of one sounding; `answered` says whether the last response got one."""

    __slots__ = ("answered", "errors", "logged")

    def __init__(self) -> None:
        self.errors: list[int] = []
        self.logged = 0
        self.answered = True


class Watch:
    def __init__(self, about: About) -> None:
        self.rows: dict[int | None, _Row] = {}
        self.marks = Marks()
        self.errors = self.logged = self.longest = self.rows_found = 0
        self.last: _Row | None = None

    def see(self, turn: Seen) -> None:
        if turn.kind == "error":
            if turn.answers is not None:
                self._error(turn, turn.answers)
        elif turn.kind == "again":
            if turn.role != "response" and (row := self.rows.get(turn.sounding)) is not None and row.errors:
                row.logged += 1
        elif turn.kind == "response" and (row := self.rows.get(turn.sounding)) is not None:
            if not row.answered:
                self._close(row)
            row.answered = False

    def end(self) -> Iterator[tuple[Marks, Detail]]:
        for row in self.rows.values():
            self._close(row)
        if self.marks:
            yield (
                self.marks,
                {"errors": self.errors, "logged": self.logged, "rows": self.rows_found, "longest": self.longest},
            )

    def _error(self, turn: Seen, answers: int) -> None:
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
                self.marks.add(position)
            self.errors += len(row.errors)
            self.logged += row.logged
            self.rows_found += 1
            self.longest = max(self.longest, len(row.errors))
        row.errors = []
        row.logged = 0


def says(detail: Detail) -> str:
    errors, logged, rows = detail["errors"], detail["logged"], detail["rows"]
    told = f"{number(errors, 'validation error')} in a row" if rows == 1 else _several(errors, rows, detail["longest"])
    if logged == 2 * errors:
        return f"{told}: {logged} entries, {errors} failures, logged twice"
    return told + (f": {logged} entries, {errors} failures" if logged > errors else "")


def _several(errors: int, rows: int, longest: int) -> str:
    return f"{number(errors, 'validation error')} in {number(rows, 'row')} of up to {longest}"


plugin = Rule("validation_storm", "high", 30, ("response", "error", "again"), Watch, says)
