"""Makes the rows of a session's turns, and folds its state along: places, traces, counters, findings, search texts.

As a program (see `store.ingest.helper_process`) it does so for short new sessions beside the process that
reads and writes.
"""

from __future__ import annotations

import pickle
import signal
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from webapp.dumps.records import LaterKnown, Problem, SessionStart, Turn, changed
from webapp.findings import RuleFinding
from webapp.parsing import Trace
from webapp.store import search
from webapp.store.db import ids
from webapp.store.db.ids import TURNS_A_SESSION
from webapp.store.write import contracts, relaxed_gc, row_values
from webapp.store.write.home import Home
from webapp.store.write.parser import SessionParser
from webapp.store.write.session_state import PlacedTurn, SessionState
from webapp.store.write.tally import Place

READY = "ready\n"
"""what the program says before anything else"""
DONE = ".done"
"""how the file with an answer ends"""
_STORED = ("role", "agent", "model", "host", "phase", "sounding", "round", "sent_at")
"""what a turn may have in another form in its row: names are shortened, numbers cut out, times in UTC"""
_KNOWN_LATER = (
    *("agent", "model", "phase", "sounding", "round", "attempt"),
    *("sent_at", "tokens_in", "tokens_out", "tokens_reasoning", "cost", "tool_calls", "host"),
)
"""what a turn may take over from its later twin …"""
_ITS_OWN = {"attempt", "tokens_in", "tokens_out", "tokens_reasoning", "cost"}
"""… and what of that says nothing of the session"""


class SessionInput(NamedTuple):
    """A session as a dump gave it, and the home profile it is read under."""

    start: SessionStart
    turns: Iterable[Turn]
    home: Home


@dataclass(slots=True)
class NewSession:
    """The rows of a new session. Until it has a number, its turns' ids are their ordinals."""

    external_id: str
    values: dict[str, Any]
    """the columns of `session`, counters included"""
    turns: list[row_values.Values] = field(default_factory=list)
    parses: list[row_values.Values] = field(default_factory=list)
    repairs: list[row_values.Values] = field(default_factory=list)
    texts: list[search.Text] = field(default_factory=list)
    notes: list[search.Note] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    findings: list[RuleFinding] = field(default_factory=list)
    contracts: list[contracts.Row] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def number(self, session_id: int) -> None:
        """Give the session its number."""
        base = session_id * TURNS_A_SESSION
        self.turns = [
            (turn_id + base, session_id, None if original is None else original + base, *columns)
            for turn_id, _, original, *columns in self.turns
        ]
        self.parses = [(turn_id + base, *columns) for turn_id, *columns in self.parses]
        self.repairs = [(turn_id + base, *columns) for turn_id, *columns in self.repairs]
        self.contracts = [row._replace(turn_id=row.turn_id + base) for row in self.contracts]
        self.texts = [(turn_id + base, raw) for turn_id, raw in self.texts]
        self.notes = [note._replace(target=note.target + base) for note in self.notes]


@dataclass(slots=True)
class SessionRows:
    """Rows of a session's next turns, in order; `state` sees each of them."""

    state: SessionState
    parser: SessionParser
    on_problem: Callable[[Problem], None]
    twins: dict[int, int] = field(default_factory=dict)
    """which stored turn a single new one repeats, by ordinal; the others say it by their entry"""
    turns: list[row_values.Row] = field(default_factory=list)
    parses: list[row_values.Row] = field(default_factory=list)
    repairs: list[row_values.Row] = field(default_factory=list)
    failures: list[row_values.Row] = field(default_factory=list)
    """failures that a later turn records of an earlier one, whose row may be written already"""
    changes: list[row_values.Row] = field(default_factory=list)
    """what else later turns told of those that are written"""
    size: int = 0
    """bytes that wait in `turns`, about"""

    def add(self, turn: Turn) -> bool:
        """Take the next turn; False, and a problem, where the session holds as many as it can."""
        tally = self.state.tally
        if len(tally.positions) >= TURNS_A_SESSION:
            self.on_problem(Problem(f"entry {turn.entry}", f"a session has at most {TURNS_A_SESSION} turns"))
            return False
        raw = row_values.encoded(turn.raw)
        place = self._place(turn)
        turn, row = self._row(turn, raw, first=tally.firsts[turn.entry] == place.ordinal)
        row["id"] = self.state.turn_id(place.ordinal)
        row["session_id"] = self.state.session_id
        row["ordinal"] = place.ordinal
        row["position"] = place.position
        row["duplicate_of"] = None if place.original is None else self.state.turn_id(place.original)
        self.turns.append(row)
        self.size += len(raw or b"") + 1000
        traces = self._parse(row["id"], turn) if turn.written_by_model and place.original is None else ()
        answered = None if turn.answers is None else tally.answered(turn.answers)
        answers = None if answered is None else tally.positions[answered]
        self.state.see(PlacedTurn(*place, turn, raw, traces, answers))
        self._fail(turn, place, answered)
        return True

    def learn(self, later: LaterKnown) -> bool:
        """Note what later entries tell of a turn that is written; whether more than its row depends on that."""
        row = row_values.turn_row(later.turn, None)
        later_values = {name: row[name] for name in _KNOWN_LATER if row[name] is not None}
        if later_values:
            self.changes.append({"turn": self.state.turn_id(later.ordinal), **later_values})
        failure, original = later.turn.failure, self.state.tally.originals[later.ordinal]
        has_failed = failure is not None and self.fail_earlier(original, failure)
        return has_failed or bool(later_values.keys() - _ITS_OWN)

    def fail_earlier(self, ordinal: int, text: str) -> bool:
        """Note a recorded failure of a turn whose row may be written; False where one was noted before."""
        if not self.state.fail(ordinal, text):
            return False
        self.failures.append({"turn": self.state.turn_id(ordinal), "text": row_values.encoded(text)})
        return True

    def fill_in_failures(self) -> None:
        """Put failures that a later turn records into rows that all wait here, as those of a new session do."""
        for failure in self.failures:
            row = self.turns[failure["turn"]]
            if row["recorded_failure"] is None:
                row["recorded_failure"] = failure["text"]
        self.failures.clear()

    def _place(self, turn: Turn) -> Place:
        tally = self.state.tally
        twin = self.twins.get(len(tally.positions))
        if twin is not None:
            return tally.put(turn.entry, turn.kind, turn.written_by_model, twin)
        return tally.place(turn.entry, turn.kind, turn.written_by_model, turn.duplicate_of)

    def _row(self, turn: Turn, raw: bytes | None, *, first: bool) -> tuple[Turn, row_values.Row]:
        """The turn with what is stored of it, and its row."""
        try:
            row = row_values.turn_row(turn, raw, first=first)
        except RecursionError:
            reason = "nested too deeply: its text is kept, the entry around it is not"
            self.on_problem(Problem(f"entry {turn.entry}", reason))
            turn = replace(turn, source=None, raw_at=None, tool_calls=None)
            row = row_values.turn_row(turn, raw, first=first)
        stored_values = {name: row[name] for name in _STORED if row[name] is not getattr(turn, name)}
        return changed(turn, **stored_values) if stored_values else turn, row

    def _parse(self, turn_id: int, turn: Turn) -> tuple[Trace, ...]:
        raw = turn.raw or ""
        traces = self.parser.traces(raw)
        for trace in traces:
            self.parses.append(row_values.parse_row(turn_id, trace, raw, traces[-1]))
            self.repairs.extend(row_values.repair_rows(turn_id, trace))
        return traces

    def _fail(self, turn: Turn, place: Place, answered: int | None) -> None:
        """Note the failure that a turn records of itself, and what it says of the response that it answers."""
        if turn.failure is not None:
            if place.original is None:
                self.state.fail(place.ordinal, turn.failure)
            else:
                self.fail_earlier(place.original, turn.failure)
        if answered is not None:
            self.fail_earlier(answered, turn.raw if turn.raw is not None else turn.failure or "")


def new_session(session: SessionInput) -> NewSession:
    """The rows of a session, as its first revision: a pure function of its turns."""
    return folded(session)[0]


def folded(session: SessionInput) -> tuple[NewSession, SessionState]:
    """As `new_session`, with the state that its turns left."""
    problems: list[Problem] = []
    index = search.Pending()
    home = session.home.profile
    state = SessionState.of_nothing(0, home, index)
    external_id = ids.shortened(session.start.external_id)
    index.note(*search.session_notes(0, external_id, session.start.title))
    session_rows = SessionRows(state, SessionParser(home), problems.append)
    for turn in session.turns:
        if not session_rows.add(turn):
            break
    session_rows.fill_in_failures()
    state.settle()
    values = columns(session.start, external_id, 1, ids.key(external_id, 1), session.home) | state.columns()
    new = NewSession(
        external_id,
        values,
        row_values.values(row_values.TURN, session_rows.turns),
        row_values.values(row_values.PARSE, session_rows.parses),
        row_values.values(row_values.REPAIR, session_rows.repairs),
        index.texts,
        index.notes,
        sorted(state.tally.models),
        state.findings,
        list(state.contracts),
        problems,
    )
    state.first_contract = len(state.tally.positions)
    state.contracts.clear()
    return new, state


def columns(start: SessionStart, external_id: str, revision: int, key: str, home: Home) -> dict[str, Any]:
    """The columns of `session` that are known before its turns."""
    now = datetime.now(UTC)
    return {
        "external_id": external_id,
        "revision": revision,
        "key": key,
        "title": start.title,
        "source_format": start.source_format[:64],
        "home_profile": home.profile,
        "home_source": home.source,
        "service": start.service,
        "models": [],
        "started_at": None,
        "ended_at": None,
        "ingested_at": now,
        "happened_at": now,
        "extra": start.extra or None,
    }


def main() -> None:
    """For each name that comes in: take that file of the folder, unless it is gone, write its answer, say so."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started this ends it, by closing its input
    folder = Path(sys.argv[1])
    print(READY, end="", flush=True)
    with relaxed_gc.seldom():
        for line in sys.stdin:
            name = line.strip()
            begun = folder / f"{name}.begun"
            try:
                (folder / name).rename(begun)
            except FileNotFoundError:  # it was taken back
                continue
            new = [new_session(session) for session in pickle.loads(begun.read_bytes())]  # noqa: S301
            begun.unlink()
            (folder / f"{name}{DONE}").write_bytes(pickle.dumps(new, pickle.HIGHEST_PROTOCOL))
            print(name, flush=True)
