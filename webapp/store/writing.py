"""Writes one session's turns and parses in batches, inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal

import sqlalchemy as sa

from webapp.dumps.records import Problem, SessionStart, Turn
from webapp.findings import Notice
from webapp.parsing import Trace
from webapp.store import growth, ids, noticing, rows, search
from webapp.store.dialect import change
from webapp.store.facets import Facets, digest
from webapp.store.models import TURNS_A_SESSION, Session, SessionModel
from webapp.store.parsed import Parser
from webapp.store.tally import Place, Tally

MOST_TURNS = 500
MOST_BYTES = 4 * 1024 * 1024

_note_failure = (
    sa.update(rows.turns)
    .where(rows.turns.c.id == sa.bindparam("turn"), rows.turns.c.recorded_failure.is_(None))
    .values(recorded_failure=sa.bindparam("text"))
)
_insert_session = sa.insert(Session).returning(Session.id)
_insert_models = sa.insert(SessionModel)
_known_models = sa.select(SessionModel.model).where(SessionModel.session_id == sa.bindparam("session"))
_bring_back = (
    sa.update(Session.__table__)  # type: ignore[arg-type]
    .where(Session.__table__.c.id == sa.bindparam("session"), Session.__table__.c.deleted_at.is_not(None))
    .values(deleted_at=None, changed=change())
)
_has_key = sa.select(Session.id).where(Session.key == sa.bindparam("key"))
_count_session = (
    sa.update(Session.__table__)  # type: ignore[arg-type]
    .where(Session.__table__.c.id == sa.bindparam("session"))
    .values(changed=change())
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one session of a dump: `new`, `grown`, or `found` where all of it was there."""

    what: Literal["new", "grown", "found"]
    id: int
    key: str
    new_turns: int


def write(
    connection: sa.Connection,
    start: SessionStart,
    turns: Iterable[Turn],
    *,
    home: str,
    dump_id: Callable[[sa.Connection], int],
    problem: Callable[[Problem], None],
    anew: bool = False,
    index: search.Pending | None = None,
) -> Outcome:
    """Store a session whole: new, grown, or nothing where all of it is there. The caller commits.

    With `index` the caller flushes that before it commits, so that the texts of several sessions go in together.
    `turns` is gone through twice. `dump_id` is asked only where something is to be written. With `anew` a session
    that today's format reads otherwise than it is stored becomes a new revision.
    """
    external_id = ids.shortened(start.external_id)
    _lock(connection, external_id)
    plan = growth.plan(connection, external_id, turns, anew=anew)
    if plan.stored is not None:
        connection.execute(_bring_back, {"session": plan.stored.id})
    if plan.stored is not None and not plan.grows:
        return Outcome("found", plan.stored.id, plan.stored.key, 0)
    if plan.stored is not None:
        dump_id(connection)
        tally = growth.restored(connection, plan.stored.id, plan.stored.home)
        facets, raw_bytes = growth.counted(connection, plan.stored.id)
        writer = Writer(
            connection,
            plan.stored.id,
            Parser(plan.stored.home),
            tally,
            problem,
            facets=facets,
            raw_bytes=raw_bytes,
            index=index,
        )
        writer.searched = search.is_indexed(connection, plan.stored.id)
        count = writer.write(_after(turns, plan.skip))
        noticing.renew(connection, plan.stored.id)
        return Outcome("grown", plan.stored.id, plan.stored.key, count)
    key = _free_key(connection, external_id, plan.next_revision)
    values = _columns(start, external_id, plan.next_revision, key, home) | {"dump_id": dump_id(connection)}
    session_id = connection.scalars(_insert_session, values).one()
    writer = Writer(connection, session_id, Parser(home), Tally(), problem, noticing.watch(home), index=index)
    writer.pending.note(*search.session_notes(session_id, external_id, start.title))
    count = writer.write(turns)
    return Outcome("new", session_id, key, count)


@dataclass(slots=True)
class Writer:
    """Appends turns to a session: rows are gathered and written a batch at a time."""

    connection: sa.Connection
    session_id: int
    parser: Parser
    tally: Tally
    problem: Callable[[Problem], None]
    notice: Notice | None = None
    """the rules that look on while a session is written whole; one that grew is looked at again afterwards"""
    index: search.Pending | None = None
    """where texts wait for the caller to index them; without it they are indexed here"""
    turns: list[rows.Row] = field(default_factory=list)
    parses: list[rows.Row] = field(default_factory=list)
    repairs: list[rows.Row] = field(default_factory=list)
    failures: list[rows.Row] = field(default_factory=list)
    size: int = 0
    facets: Facets = field(default_factory=Facets)
    raw_bytes: int = 0
    pending: search.Pending = field(init=False)
    mark: tuple[int, int, int] = field(init=False)
    searched: bool = True
    """False where the session was stored before there was a search index: it comes in whole, by `db reindex`"""

    @property
    def new(self) -> bool:
        """Whether the session is written whole."""
        return self.notice is not None

    def __post_init__(self) -> None:
        self.pending = search.Pending() if self.index is None else self.index
        self.mark = self.pending.mark()

    def write(self, turns: Iterable[Turn]) -> int:
        """Store `turns` and the session's new counters; the number of rows written."""
        before = len(self.tally.positions)
        for turn in turns:
            if len(self.tally.positions) >= TURNS_A_SESSION:
                self.problem(Problem(f"entry {turn.entry}", f"a session holds at most {TURNS_A_SESSION} turns"))
                break
            self._add(turn)
            if len(self.turns) >= MOST_TURNS or self.size >= MOST_BYTES:
                self._flush()
        self._flush()
        if self.notice is not None:
            self.facets.finding = noticing.save(self.connection, self.session_id, self.notice)
        self._count()
        return len(self.tally.positions) - before

    def _add(self, turn: Turn) -> None:
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

    def _answered(self, turn: Turn) -> int | None:
        """The position of the response that an error answers."""
        answered = None if turn.answers is None else self.tally.answered(turn.answers)
        return None if answered is None else self.tally.positions[answered]

    def _row(self, turn: Turn, raw: bytes | None) -> rows.Row:
        first = self.tally.firsts[turn.entry] == len(self.tally.positions) - 1
        try:
            row = rows.turn_row(turn, raw, first=first)
        except RecursionError:
            reason = "nested too deeply: its text is kept, the entry around it is not"
            self.problem(Problem(f"entry {turn.entry}", reason))
            bare = replace(turn, source=None, raw_at=None, tool_calls=None)
            row = rows.turn_row(bare, raw, first=first)
        return row

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
                self._failed(original, turn.failure, here=place.original is None)
        if turn.answers is not None:
            answered = self.tally.answered(turn.answers)
            if answered is not None and self.tally.fail(answered):
                text = turn.raw if turn.raw is not None else turn.failure or ""
                self._failed(answered, text, here=False)

    def _failed(self, ordinal: int, text: str, *, here: bool) -> None:
        """Note a recorded failure; `here` where the turn's own row says it."""
        self.facets.failure(text)
        self.pending.note(search.Note("failure", self._id(ordinal), text))
        if not here:
            self.failures.append({"turn": self._id(ordinal), "text": rows.encoded(text)})

    def _flush(self) -> None:
        for table, batch in ((rows.turns, self.turns), (rows.parses, self.parses), (rows.repairs, self.repairs)):
            if batch:
                rows.insert(self.connection, table, batch)
                batch.clear()
        if self.failures:
            self.connection.execute(_note_failure, self.failures)
            self.failures.clear()
        if not self.searched:
            self.pending.cut(self.mark)
        elif self.index is None or self.pending.size - self.mark[2] > MOST_BYTES:
            self.pending.flush(self.connection, self.mark)
        self.size = 0

    def _count(self) -> None:
        models = list(self.tally.models)
        known = () if self.new else self.connection.scalars(_known_models, {"session": self.session_id})
        if missing := set(models).difference(known):
            new = [{"session_id": self.session_id, "model": model} for model in sorted(missing)]
            self.connection.execute(_insert_models, new)
        values: dict[str, Any] = {**self.tally.counters(), "models": models}
        values |= {"facets": self.facets.as_dict(), "raw_bytes": self.raw_bytes, "grown_at": datetime.now(UTC)}
        if self.tally.started_at is not None:
            started = self.tally.started_at
            values |= {"started_at": started, "ended_at": self.tally.ended_at, "happened_at": started}
        self.connection.execute(_count_session, {"session": self.session_id, **values})

    def _id(self, ordinal: int) -> int:
        return self.session_id * TURNS_A_SESSION + ordinal


def _after(turns: Iterable[Turn], skip: int) -> Iterator[Turn]:
    """The turns after those of the first `skip` entries."""
    entries, last = 0, None
    for turn in turns:
        if turn.entry != last:
            entries, last = entries + 1, turn.entry
        if entries > skip:
            yield turn


def _lock(connection: sa.Connection, external_id: str) -> None:
    """Let no other transaction write a revision of this id before this one ends (SQLite has but one writer)."""
    if connection.dialect.name == "postgresql":
        number = ids.lock_number(external_id)
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(number)))


def _free_key(connection: sa.Connection, external_id: str, revision: int) -> str:
    attempt = 0
    while True:
        key = ids.key(external_id, revision, attempt)
        if connection.scalar(_has_key, {"key": key}) is None:
            return key
        attempt += 1


def _columns(start: SessionStart, external_id: str, revision: int, key: str, home: str) -> dict[str, Any]:
    now = datetime.now(UTC)
    return {
        "external_id": external_id,
        "revision": revision,
        "key": key,
        "title": start.title,
        "source_format": start.source_format[:64],
        "home_profile": home,
        "models": [],
        "ingested_at": now,
        "happened_at": now,
        "extra": start.extra or None,
    }
