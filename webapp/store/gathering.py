"""Gathers one session's turns as rows, without a database: places, traces, counters, findings and what is searched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from webapp.dumps.records import Problem, Turn
from webapp.findings import Finding, Notice
from webapp.parsing import Trace
from webapp.store import noticing, rows, search
from webapp.store.facets import Facets, digest
from webapp.store.models import TURNS_A_SESSION
from webapp.store.parsed import Parser
from webapp.store.tally import Place, Tally


@dataclass(slots=True)
class Gathering:
    """Rows of a session's next turns, in order; `notice` are the rules that look on while it is gathered whole.

    A session that has no number yet has the number 0: its turns' ids are their ordinals (see `store.preparing`).
    """

    session_id: int
    parser: Parser
    tally: Tally
    problem: Callable[[Problem], None]
    notice: Notice | None = None
    facets: Facets = field(default_factory=Facets)
    raw_bytes: int = 0
    pending: search.Pending = field(default_factory=search.Pending)
    turns: list[rows.Row] = field(default_factory=list)
    parses: list[rows.Row] = field(default_factory=list)
    repairs: list[rows.Row] = field(default_factory=list)
    failures: list[rows.Row] = field(default_factory=list)
    """failures that a later turn records of an earlier one, whose row may be written already"""
    found: list[Finding] = field(default_factory=list)
    """what the rules found, once it is settled"""
    size: int = 0
    """bytes that wait in `turns`, about"""

    def add(self, turn: Turn) -> bool:
        """Take the next turn; False, and a problem, where the session holds as many as it can."""
        if len(self.tally.positions) >= TURNS_A_SESSION:
            self.problem(Problem(f"entry {turn.entry}", f"a session holds at most {TURNS_A_SESSION} turns"))
            return False
        raw = rows.encoded(turn.raw)
        place = self.tally.place(turn.entry, turn.kind, turn.written_by_model, turn.duplicate_of)
        row = self._row(turn, raw)
        row["id"] = self._id(place.ordinal)
        row["session_id"] = self.session_id
        row["ordinal"] = place.ordinal
        row["position"] = place.position
        row["duplicate_of"] = None if place.original is None else self._id(place.original)
        self.turns.append(row)
        self.size += len(raw or b"") + 1000
        self.tally.saw(row["model"] if turn.kind in ("response", "tool_call") else None, row["sent_at"])
        traces: tuple[Trace, ...] = ()
        if place.original is None:
            self.raw_bytes += len(raw or b"")
            if raw is not None:
                self.pending.text(row["id"], raw)
            self.facets.turn(turn, row)
            if turn.written_by_model:
                traces = self._parse(place, turn.raw or "", row["model"])
        if self.notice is not None:
            noticing.show(self.notice, place, turn, traces, self._answered(turn))
        self._fail(turn, place)
        return True

    def failed(self, ordinal: int, text: str) -> None:
        """Note a recorded failure of a turn that stands before those gathered last."""
        self._count_failure(ordinal, text)
        self.failures.append({"turn": self._id(ordinal), "text": rows.encoded(text)})

    def settle(self) -> None:
        """All turns have come: let the rules speak, and put failures that a later turn records into waiting rows."""
        if self.notice is not None:
            self.found = self.notice.findings()
            self.facets.finding = noticing.counts(self.found)
        if not self.session_id:
            for failure in self.failures:
                row = self.turns[failure["turn"]]
                if row["recorded_failure"] is None:
                    row["recorded_failure"] = failure["text"]
            self.failures.clear()

    def counters(self) -> dict[str, Any]:
        """The columns of `session` that count its turns, once it is settled."""
        tally = self.tally
        values: dict[str, Any] = {**tally.counters(), "models": list(tally.models)}
        values |= {"facets": self.facets.as_dict(), "raw_bytes": self.raw_bytes, "grown_at": datetime.now(UTC)}
        if tally.started_at is not None:
            values |= {"started_at": tally.started_at, "ended_at": tally.ended_at, "happened_at": tally.started_at}
        return values

    def _answered(self, turn: Turn) -> int | None:
        """The position of the response that an error answers."""
        answered = None if turn.answers is None else self.tally.answered(turn.answers)
        return None if answered is None else self.tally.positions[answered]

    def _row(self, turn: Turn, raw: bytes | None) -> rows.Row:
        first = self.tally.firsts[turn.entry] == len(self.tally.positions) - 1
        try:
            return rows.turn_row(turn, raw, first=first)
        except RecursionError:
            reason = "nested too deeply: its text is kept, the entry around it is not"
            self.problem(Problem(f"entry {turn.entry}", reason))
            bare = replace(turn, source=None, raw_at=None, tool_calls=None)
            return rows.turn_row(bare, raw, first=first)

    def _parse(self, place: Place, raw: str, model: str | None) -> tuple[Trace, ...]:
        traces = self.parser.traces(raw)
        turn_id = self._id(place.ordinal)
        for trace in traces:
            self.parses.append(rows.parse_row(turn_id, trace))
            self.repairs.extend(rows.repair_rows(turn_id, trace))
        if traces[0].verdict == "failed":
            self.pending.note(search.Note("error", turn_id, search.errors(traces[0])))
        self.tally.verdicts(place.position, traces[0].verdict, traces[-1].verdict)
        self.facets.response(model, [digest(trace) for trace in traces])
        return traces

    def _fail(self, turn: Turn, place: Place) -> None:
        if turn.failure is not None:
            original = place.ordinal if place.original is None else place.original
            if self.tally.fail(original):
                if place.original is None:
                    self._count_failure(original, turn.failure)
                else:
                    self.failed(original, turn.failure)
        if turn.answers is not None:
            answered = self.tally.answered(turn.answers)
            if answered is not None and self.tally.fail(answered):
                self.failed(answered, turn.raw if turn.raw is not None else turn.failure or "")

    def _count_failure(self, ordinal: int, text: str) -> None:
        self.facets.failure(text)
        self.pending.note(search.Note("failure", self._id(ordinal), text))

    def _id(self, ordinal: int) -> int:
        return self.session_id * TURNS_A_SESSION + ordinal
