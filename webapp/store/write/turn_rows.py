"""Appends turns to sessions, as they came and at their places: facts, of which `store.derive` makes the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import sqlalchemy as sa

from webapp.dumps.records import Problem, Turn
from webapp.store.db.ids import TURNS_A_SESSION
from webapp.store.search import Text, index_turns
from webapp.store.write import rows
from webapp.store.write.tally import Place, Tally

MOST_TURNS, MOST_BYTES = 250, 256 * 1024
"""that wait to be written together"""
OnProblem = Callable[[Problem], None]
KNOWN_LATER = (
    *("agent", "model", "phase", "sounding", "round", "attempt"),
    *("sent_at", "tokens_in", "tokens_out", "tokens_reasoning", "cost", "tool_calls", "host"),
)
"""what a turn may take over from its later twin"""
_columns = rows.turns.c
_note_failure = (
    sa.update(rows.turns)
    .where(_columns.id == sa.bindparam("turn"), _columns.recorded_failure.is_(None))
    .values(recorded_failure=sa.bindparam("text"))
)
_fill_in = (
    sa.update(rows.turns)
    .where(_columns.id == sa.bindparam("turn"))
    .values({name: sa.func.coalesce(_columns[name], sa.bindparam(f"new_{name}")) for name in KNOWN_LATER})
)


@dataclass(slots=True)
class TurnBatch:
    """Rows of turns, and what new ones tell of stored ones, until they are written together."""

    turns: list[rows.Row] = field(default_factory=list)
    failures: list[rows.Row] = field(default_factory=list)
    later_known: list[rows.Row] = field(default_factory=list)
    texts: list[Text] = field(default_factory=list)
    size: int = 0
    """bytes, about"""

    @property
    def is_full(self) -> bool:
        return len(self.turns) >= MOST_TURNS or self.size >= MOST_BYTES

    def write(self, connection: sa.Connection) -> None:
        """Insert what waits; the caller commits."""
        rows.insert(connection, rows.turns, self.turns)
        if self.failures:
            connection.execute(_note_failure, self.failures)
        if self.later_known:
            connection.execute(_fill_in, self.later_known)
        index_turns(connection, self.texts)
        self.clear()

    def clear(self) -> None:
        for waiting in (self.turns, self.failures, self.later_known, self.texts):
            waiting.clear()
        self.size = 0


@dataclass(slots=True)
class TurnRows:
    """The next turns of one session, whose `tally` knows the places of those before; they go into `batch`.

    `twins` says which stored turn a single new one repeats, by ordinal; the others say it by their entry.
    """

    session_id: int
    tally: Tally
    batch: TurnBatch
    on_problem: OnProblem
    twins: dict[int, int] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many turns the session has by now."""
        return len(self.tally.positions)

    def add(self, turn: Turn) -> bool:
        """Take the next turn; False, and a problem, where the session holds as many as it can."""
        if self.count >= TURNS_A_SESSION:
            self.on_problem(Problem(f"entry {turn.entry}", f"a session has at most {TURNS_A_SESSION} turns"))
            return False
        raw, place = rows.encoded(turn.raw), self._place(turn)
        row = self._row(turn, raw, first=self.tally.firsts[turn.entry] == place.ordinal)
        row |= {"id": self._id(place.ordinal), "session_id": self.session_id, "ordinal": place.ordinal}
        row |= {"position": place.position, "duplicate_of": None}
        if place.original is not None:
            row["duplicate_of"] = self._id(place.original)
            if turn.failure is not None:
                self.fail(place.original, turn.failure)
        elif raw is not None:
            self.batch.texts.append((row["id"], raw))
        if turn.answers is not None and (answered := self.tally.answered(turn.answers)) is not None:
            self.fail(answered, turn.raw if turn.raw is not None else turn.failure or "")
        self.batch.turns.append(row)
        self.batch.size += len(raw or b"") + 1000
        return True

    def fail(self, ordinal: int, text: str) -> None:
        """Note what is recorded of an earlier turn, unless a failure of it was recorded before."""
        self.batch.failures.append({"turn": self._id(ordinal), "text": rows.encoded(text)})

    def learn(self, ordinal: int, turn: Turn) -> None:
        """Put to a stored turn what is known of it only now, since later entries tell it."""
        row = rows.turn_row(replace(turn, source=None, raw_at=None, declared=None), None)
        if any(row[name] is not None for name in KNOWN_LATER):
            values = {f"new_{name}": row[name] for name in KNOWN_LATER}
            self.batch.later_known.append({"turn": self._id(ordinal), **values})
        if turn.failure is not None:
            self.fail(self.tally.originals[ordinal], turn.failure)

    def _id(self, ordinal: int) -> int:
        return self.session_id * TURNS_A_SESSION + ordinal

    def _place(self, turn: Turn) -> Place:
        twin = self.twins.get(self.count)
        if twin is not None:
            return self.tally.put(turn.entry, turn.kind, turn.written_by_model, twin)
        return self.tally.place(turn.entry, turn.kind, turn.written_by_model, turn.duplicate_of)

    def _row(self, turn: Turn, raw: bytes | None, *, first: bool) -> rows.Row:
        try:
            return rows.turn_row(turn, raw, first=first)
        except RecursionError:
            reason = "nested too deeply: its text is kept, the entry around it is not"
            self.on_problem(Problem(f"entry {turn.entry}", reason))
            bare = replace(turn, source=None, raw_at=None, tool_calls=None)
            return rows.turn_row(bare, raw, first=first)
