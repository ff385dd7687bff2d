"""Writes sessions inside the caller's transaction: new ones that were gathered before, or one as its turns come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import sqlalchemy as sa

from webapp.dumps.records import Problem, SessionStart, Turn
from webapp.findings import Notice
from webapp.store import growth, ids, noticing, rows, search
from webapp.store.dialect import change
from webapp.store.facets import Facets
from webapp.store.gathering import Gathering
from webapp.store.models import Session, SessionModel
from webapp.store.parsed import Parser
from webapp.store.preparing import Prepared, columns
from webapp.store.tally import Tally

MOST_TURNS = 500
MOST_BYTES = 4 * 1024 * 1024

_sessions: sa.Table = Session.__table__  # type: ignore[assignment]
_note_failure = (
    sa.update(rows.turns)
    .where(rows.turns.c.id == sa.bindparam("turn"), rows.turns.c.recorded_failure.is_(None))
    .values(recorded_failure=sa.bindparam("text"))
)
_insert_session = sa.insert(Session).returning(Session.id)
_insert_sessions = sa.insert(_sessions).returning(_sessions.c.id, sort_by_parameter_order=True)
_insert_models = sa.insert(SessionModel)
_known_models = sa.select(SessionModel.model).where(SessionModel.session_id == sa.bindparam("session"))
_bring_back = (
    sa.update(_sessions)
    .where(_sessions.c.id == sa.bindparam("session"), _sessions.c.deleted_at.is_not(None))
    .values(deleted_at=None, changed=change())
)
_has_key = sa.select(Session.id).where(Session.key == sa.bindparam("key"))
_has_id = sa.select(Session.id).where(Session.external_id == sa.bindparam("external_id")).limit(1)
_next_change = sa.select(change())
_count_session = sa.update(_sessions).where(_sessions.c.id == sa.bindparam("session")).values(changed=change())


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one session of a dump: `new`, `grown`, or `found` where all of it was there."""

    what: Literal["new", "grown", "found"]
    id: int
    key: str
    new_turns: int


def is_known(connection: sa.Connection, start: SessionStart) -> bool:
    """Whether a session of that id is stored."""
    return connection.scalar(_has_id, {"external_id": ids.shortened(start.external_id)}) is not None


def write_new(
    connection: sa.Connection,
    prepared: Sequence[Prepared],
    *,
    dump_id: Callable[[sa.Connection], int],
    index: search.Pending,
) -> list[Outcome | None]:
    """Store those of `prepared` that are new; None stands for one whose id or key is there, or stands twice among them.

    The caller commits, and flushes `index` before.
    """
    _lock(connection, *(one.external_id for one in prepared))
    new = _new(connection, prepared)
    if not new:
        return [None] * len(prepared)
    dump, changed = dump_id(connection), connection.execute(_next_change).scalar_one()
    values = [one.values | {"dump_id": dump, "changed": changed} for one in new]
    numbers = connection.scalars(_insert_sessions, values).all()
    written = {one.external_id: number for one, number in zip(new, numbers, strict=True)}
    for one in new:
        one.number(written[one.external_id])
        index.texts += one.texts
        index.note(*one.notes)
        index.size += sum(len(raw) for _, raw in one.texts)
    _insert(connection, new, written)
    outcomes = {id(one): Outcome("new", written[one.external_id], one.values["key"], len(one.turns)) for one in new}
    return [outcomes.get(id(one)) for one in prepared]


def _new(connection: sa.Connection, prepared: Sequence[Prepared]) -> list[Prepared]:
    first = {one.external_id: one for one in reversed(prepared)}
    keys = {one.values["key"]: one for one in first.values()}
    query = sa.select(Session.external_id, Session.key)
    there = query.where(sa.or_(Session.external_id.in_(list(first)), Session.key.in_(list(keys))))
    for row in connection.execute(there):
        first.pop(row.external_id, None)
        keys.pop(row.key, None)
    return [one for one in prepared if first.get(one.external_id) is one and keys.get(one.values["key"]) is one]


def _insert(connection: sa.Connection, prepared: Sequence[Prepared], numbers: Mapping[str, int]) -> None:
    rows.insert_values(connection, rows.turns, rows.TURN, [row for one in prepared for row in one.turns])
    rows.insert_values(connection, rows.parses, rows.PARSE, [row for one in prepared for row in one.parses])
    rows.insert_values(connection, rows.repairs, rows.REPAIR, [row for one in prepared for row in one.repairs])
    models = [{"session_id": numbers[one.external_id], "model": model} for one in prepared for model in one.models]
    if models:
        connection.execute(_insert_models, models)
    for one in prepared:
        noticing.keep(connection, numbers[one.external_id], one.found)


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
        count = _grow(connection, plan.stored, _after(turns, plan.skip), problem, index)
        return Outcome("grown", plan.stored.id, plan.stored.key, count)
    key = _free_key(connection, external_id, plan.next_revision)
    values = columns(start, external_id, plan.next_revision, key, home) | {"dump_id": dump_id(connection)}
    session_id = connection.scalars(_insert_session, values).one()
    writer = Writer(connection, session_id, Parser(home), Tally(), problem, noticing.watch(home), index=index)
    writer.pending.note(*search.session_notes(session_id, external_id, start.title))
    return Outcome("new", session_id, key, writer.write(turns))


def _grow(
    connection: sa.Connection,
    stored: growth.Stored,
    turns: Iterable[Turn],
    problem: Callable[[Problem], None],
    index: search.Pending | None,
) -> int:
    """Append what the stored session lacks; the number of rows written."""
    tally = growth.restored(connection, stored.id, stored.home)
    facets, raw_bytes = growth.counted(connection, stored.id)
    parser = Parser(stored.home)
    writer = Writer(*(connection, stored.id, parser, tally, problem), index=index, facets=facets, raw_bytes=raw_bytes)
    writer.searched = search.is_indexed(connection, stored.id)
    count = writer.write(turns)
    noticing.renew(connection, stored.id)
    return count


class Appender:
    """Writes what is gathered of a session a batch at a time; texts are indexed along, unless `index` takes them."""

    def __init__(self, connection: sa.Connection, gathering: Gathering, index: search.Pending | None = None) -> None:
        self.connection = connection
        self.gathering = gathering
        self.index = index
        self.pending = gathering.pending
        self.mark = (0, 0, 0) if index is None else index.mark()
        self.searched = True
        """False where the session was stored before there was a search index: it comes in whole, by `db reindex`"""

    def append(self, turns: Iterable[Turn]) -> int:
        """Store `turns`; the number of rows written."""
        gathering = self.gathering
        before = len(gathering.tally.positions)
        for turn in turns:
            if not gathering.add(turn):
                break
            if len(gathering.turns) >= MOST_TURNS or gathering.size >= MOST_BYTES:
                self._flush()
        self._flush()
        return len(gathering.tally.positions) - before

    def _flush(self) -> None:
        gathering = self.gathering
        for table, batch in (
            (rows.turns, gathering.turns),
            (rows.parses, gathering.parses),
            (rows.repairs, gathering.repairs),
        ):
            rows.insert(self.connection, table, batch)
            batch.clear()
        if gathering.failures:
            self.connection.execute(_note_failure, gathering.failures)
            gathering.failures.clear()
        if not self.searched:
            self.pending.cut(self.mark)
        elif self.index is None or self.pending.size - self.mark[2] > MOST_BYTES:
            self.pending.flush(self.connection, self.mark)
        gathering.size = 0


class Writer(Appender):
    """Appends turns to a session that has its row, and counts them there.

    With `notice` the session is written whole; one that grew is looked at by the rules afterwards. `index` is where
    texts wait for the caller to index them; without it they are indexed here.
    """

    def __init__(
        self,
        connection: sa.Connection,
        session_id: int,
        parser: Parser,
        tally: Tally,
        problem: Callable[[Problem], None],
        notice: Notice | None = None,
        *,
        index: search.Pending | None = None,
        facets: Facets | None = None,
        raw_bytes: int = 0,
    ) -> None:
        pending = search.Pending() if index is None else index
        gathering = Gathering(*(session_id, parser, tally, problem, notice, facets or Facets(), raw_bytes, pending))
        super().__init__(connection, gathering, index)

    def write(self, turns: Iterable[Turn]) -> int:
        """Store `turns` and the session's new counters; the number of rows written."""
        count = self.append(turns)
        self._count()
        return count

    def _count(self) -> None:
        gathering = self.gathering
        session = {"session": gathering.session_id}
        models = list(gathering.tally.models)
        known = () if gathering.notice is not None else self.connection.scalars(_known_models, session)
        if missing := set(models).difference(known):
            new = [{"session_id": gathering.session_id, "model": model} for model in sorted(missing)]
            self.connection.execute(_insert_models, new)
        gathering.settle()
        values = gathering.counters()
        noticing.keep(self.connection, gathering.session_id, gathering.found)
        self.connection.execute(_count_session, session | values)


def _after(turns: Iterable[Turn], skip: int) -> Iterator[Turn]:
    """The turns after those of the first `skip` entries."""
    entries, last = 0, None
    for turn in turns:
        if turn.entry != last:
            entries, last = entries + 1, turn.entry
        if entries > skip:
            yield turn


def _lock(connection: sa.Connection, *external_ids: str) -> None:
    """Let no other transaction write a revision of these ids before this one ends (SQLite has but one writer).

    Who takes several takes them in the order of their numbers, and no more of them in the same transaction.
    """
    if connection.dialect.name == "postgresql":
        for number in sorted({ids.lock_number(external_id) for external_id in external_ids}):
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(number)))


def _free_key(connection: sa.Connection, external_id: str, revision: int) -> str:
    attempt = 0
    while True:
        key = ids.key(external_id, revision, attempt)
        if connection.scalar(_has_key, {"key": key}) is None:
            return key
        attempt += 1
