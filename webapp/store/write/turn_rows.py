"""Turns of sessions as rows: appended at their places, as facts of which `store.derive` makes the rest; and whether
those that come are there already, by the hashes of their entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import sqlalchemy as sa

from webapp.dumps.records import Problem, Turn
from webapp.store.db.ids import TURNS_A_SESSION, Text
from webapp.store.models import Session
from webapp.store.models import Turn as StoredTurn
from webapp.store.search.index import index_turns
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
_insert = sa.insert(rows.turns)


def _new(name: str) -> sa.BindParameter[Any]:
    return sa.bindparam(f"new_{name}", type_=_columns[name].type)


_note_failure = (
    sa.update(rows.turns)
    .where(_columns.id == sa.bindparam("turn"), _columns.recorded_failure.is_(None))
    .values(recorded_failure=sa.bindparam("text"))
)
_fill_in = (
    sa.update(rows.turns)
    .where(_columns.id == sa.bindparam("turn"))
    .values({name: sa.func.coalesce(_columns[name], _new(name)) for name in KNOWN_LATER})
)

_TOLD = (*KNOWN_LATER, "parent", "stop", "stop_said")
"""what a turn says otherwise once another is known to stand before it"""
_tell = (
    sa.update(rows.turns)
    .where(_columns.id == sa.bindparam("turn"))
    .values({name: sa.func.coalesce(_new(name), _columns[name]) for name in _TOLD})
)


@dataclass(slots=True)
class TurnBatch:
    """Rows of turns, and what new ones tell of stored ones, until they are written together."""

    turns: list[rows.Row] = field(default_factory=list)
    failures: list[rows.Row] = field(default_factory=list)
    later_known: list[rows.Row] = field(default_factory=list)
    told: list[rows.Row] = field(default_factory=list)
    texts: list[Text] = field(default_factory=list)
    declared: set[rows.DeclarationRow] = field(default_factory=set)
    size: int = 0
    """bytes, about"""

    @property
    def is_full(self) -> bool:
        return len(self.turns) >= MOST_TURNS or self.size >= MOST_BYTES

    def write(self, connection: sa.Connection) -> None:
        """Insert what waits; the caller commits."""
        rows.store_declarations(connection, self.declared)
        if self.turns:
            connection.execute(_insert, self.turns)
        if self.told:
            connection.execute(_tell, self.told)
        if self.failures:
            connection.execute(_note_failure, self.failures)
        if self.later_known:
            connection.execute(_fill_in, self.later_known)
        index_turns(connection, self.texts)
        self.clear()

    def clear(self) -> None:
        for waiting in (self.turns, self.failures, self.later_known, self.told, self.texts, self.declared):
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
        place = self._place(turn)
        row = self._row(turn, first=self.tally.firsts[turn.entry] == place.ordinal)
        row |= {"id": self._id(place.ordinal), "session_id": self.session_id, "ordinal": place.ordinal}
        answered = None if turn.answers is None else self.tally.answered(turn.answers)
        row |= {"position": place.position, "duplicate_of": None, "answers": answered}
        if place.original is not None:
            row["duplicate_of"] = self._id(place.original)
            if turn.failure is not None:
                self.fail(place.original, turn.failure)
        elif turn.raw is not None:
            self.batch.texts.append((row["id"], rows.encoded(turn.raw)))
        if answered is not None:
            self.fail(answered, turn.raw if turn.raw is not None else turn.failure or "")
        if (declared := rows.declared(turn.declared)) is not None:
            self.batch.declared.add(declared)
        self.batch.turns.append(row)
        self.batch.size += len(turn.raw or "") + 1000
        return True

    def fail(self, ordinal: int, text: str) -> None:
        """Note what is recorded of an earlier turn, unless a failure of it was recorded before."""
        self.batch.failures.append({"turn": self._id(ordinal), "text": rows.encoded(text)})

    def learn(self, ordinal: int, turn: Turn) -> None:
        """Put to a stored turn what is known of it only now, since later entries tell it."""
        row = rows.turn_row(replace(turn, source=None, raw_at=None, declared=None))
        if any(row[name] is not None for name in KNOWN_LATER):
            values = {f"new_{name}": row[name] for name in KNOWN_LATER}
            self.batch.later_known.append({"turn": self._id(ordinal), **values})
        if turn.failure is not None:
            self.fail(self.tally.originals[ordinal], turn.failure)

    def tell(self, ordinal: int, turn: Turn) -> None:
        """Put what a stored turn is now that it is read anew, behind others, in place of what it was before."""
        row = rows.turn_row(replace(turn, source=None, raw_at=None, declared=None))
        values = {f"new_{name}": row[name] for name in _TOLD}
        self.batch.told.append({"turn": self._id(ordinal), **values})
        if turn.failure is not None:
            self.fail(ordinal, turn.failure)

    def _id(self, ordinal: int) -> int:
        return self.session_id * TURNS_A_SESSION + ordinal

    def _place(self, turn: Turn) -> Place:
        twin = self.twins.get(self.count)
        if twin is not None:
            return self.tally.put(turn.entry, turn.kind, turn.written_by_model, twin)
        return self.tally.place(turn.entry, turn.kind, turn.written_by_model, turn.duplicate_of)

    def _row(self, turn: Turn, *, first: bool) -> rows.Row:
        try:
            return rows.turn_row(turn, first=first)
        except RecursionError:
            reason = "nested too deeply: its text is kept, the entry around it is not"
            self.on_problem(Problem(f"entry {turn.entry}", reason))
            return rows.turn_row(replace(turn, source=None, raw_at=None, tool_calls=None), first=first)


_EXACT = ("entry", "kind", "role", "parent", "raw_sha256", "raw_at", "duplicate_of")
_find_turns = (
    sa.select(_columns.id, _columns.recorded_failure, *(_columns[name] for name in (*_EXACT, *KNOWN_LATER)))
    .where(_columns.session_id == sa.bindparam("session"))
    .order_by(_columns.ordinal)
    .execution_options(yield_per=1000)
)


def same_reading(connection: sa.Connection, session_id: int, turns: Iterable[Turn]) -> bool:
    """Whether `turns` are what is stored of the session, as far as both go, and end between two entries."""
    batch, entry = TurnBatch(), -1
    read = TurnRows(session_id, Tally(), batch, lambda _: None)
    stored_failures, failures = set[int](), set[int]()
    with connection.execute(_find_turns, {"session": session_id}) as result:
        stored_rows = iter(result)
        for turn in turns:
            if (stored_row := next(stored_rows, None)) is None:
                return turn.entry != entry and failures <= stored_failures
            read.add(turn)
            (row,), entry = batch.turns, turn.entry
            if not _as_stored(row, stored_row):
                return False
            stored_failures |= {stored_row.id} if stored_row.recorded_failure is not None else set()
            failures |= {row["id"]} if row["recorded_failure"] is not None else set()
            failures |= {failure["turn"] for failure in batch.failures}
            batch.clear()
        following = next(stored_rows, None)
    return (following is None or following.entry != entry) and failures <= stored_failures


def _as_stored(row: rows.Row, stored_row: sa.Row[Any]) -> bool:
    columns = stored_row._mapping
    if any(row[name] != columns[name] for name in _EXACT):
        return False
    # a shorter dump of the same session lacks what is known later, and is no other reading
    return all(row[name] in (None, columns[name]) for name in KNOWN_LATER)


DIGEST = 32
"""bytes of a hash"""
_find_revisions = (
    sa.select(Session.id, Session.key, Session.revision)
    .where(Session.external_id == sa.bindparam("external_id"))
    .order_by(Session.id)
    .with_for_update(key_share=True)
)
"""locked, in the order in which all who lock several sessions do, since what is counted of one is read and written"""
_find_digests = (
    sa.select(StoredTurn.entry_sha256)
    .where(StoredTurn.session_id == sa.bindparam("session"), StoredTurn.entry_sha256.is_not(None))
    .order_by(StoredTurn.ordinal)
)


def revisions(connection: sa.Connection, external_id: str) -> list[tuple[Any, bytes]]:
    """What is stored under an id, the newest first: (id, key, revision), and the hashes of its entries in a row."""
    rows_in_order = sorted(
        connection.execute(_find_revisions, {"external_id": external_id}), key=lambda row: row.revision, reverse=True
    )
    return [(row, b"".join(connection.scalars(_find_digests, {"session": row.id}))) for row in rows_in_order]


def entry_digests(turns: Iterable[Turn]) -> Iterator[bytes]:
    """The hash of each entry, taken from its first turn."""
    last = None
    for turn in turns:
        if turn.entry != last:
            last = turn.entry
            yield rows.entry_digest(turn)
