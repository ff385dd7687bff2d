"""Grows sessions by spans, in the order of time, known ones left out; those of a day are one line of the dumps page."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

import sqlalchemy as sa

from webapp.config import Settings
from webapp.dumps.formats.otlp import plugin as otlp
from webapp.dumps.programs import LOOKED_AT, program_in
from webapp.dumps.reading import home_of
from webapp.dumps.records import Problem, SessionStart, whole_entry
from webapp.dumps.spans.logs import Attributes
from webapp.dumps.values import as_object
from webapp.store import append, derive
from webapp.store.db import database
from webapp.store.db.dialect import change, take_locks
from webapp.store.homes import rules
from webapp.store.ingest.result import MOST_PROBLEMS
from webapp.store.live import logs, lookup, reading
from webapp.store.live.logs import ArrivedLog
from webapp.store.live.lookup import Arrived, routed
from webapp.store.live.reading import arrived
from webapp.store.models import TURNS_A_SESSION, Dump, LiveSpan, Session
from webapp.store.models import Turn as StoredTurn
from webapp.store.sessions import dumps
from webapp.store.write import rows, stored_turns
from webapp.store.write.session_state import SessionInput, SessionOutcome
from webapp.store.write.tally import Tally
from webapp.store.write.turn_rows import TurnBatch, TurnRows


def dump_of_today(connection: sa.Connection) -> int:
    """The dump of this day (UTC), made where it is missing. It has no file: the spans themselves are the entries of
    their sessions."""
    now = datetime.now(UTC)
    name = f"spans of {now:%Y-%m-%d}"
    digest = hashlib.sha256(f"fencepost: {name}".encode()).hexdigest()
    dump_id = connection.scalar(sa.select(Dump.id).where(Dump.sha256 == digest))
    if dump_id is not None:
        return dump_id
    values = {"filename": name, "format": otlp.name, "bytes": 0, "state": "done", "problems": []}
    insert = sa.insert(Dump).values(sha256=digest, received_at=now, **values)
    return connection.scalars(insert.returning(Dump.id)).one()


def count_arrivals(
    connection: sa.Connection,
    dump_id: int,
    arrived: Sequence[Arrived | ArrivedLog],
    outcomes: Iterable[SessionOutcome],
    size: int,
) -> None:
    """Add what came to the dump's line: bytes, sessions, turns, and what was refused or came again."""
    new_turns = {outcome.id: outcome.new_turns for outcome in outcomes}
    values: dict[str, Any] = {
        "bytes": Dump.bytes + size,
        "session_count": Dump.session_count + dumps.link(connection, dump_id, new_turns),
        "turn_count": Dump.turn_count + sum(new_turns.values()),
    }
    problems = [{"at": record.at, "reason": reason} for record in arrived if (reason := _reason(record)) is not None]
    if problems:
        listed = connection.scalars(sa.select(Dump.problems).where(Dump.id == dump_id)).one()
        values["problem_count"] = Dump.problem_count + len(problems)
        values["problems"] = (listed + problems)[:MOST_PROBLEMS]
    connection.execute(sa.update(Dump).where(Dump.id == dump_id).values(values))


def _reason(record: Arrived | ArrivedLog) -> str | None:
    """Why nothing was added, where nothing was."""
    if isinstance(record, ArrivedLog):
        reason = f"a log record of the trace {record.trace.hex()} was sent again, unchanged; nothing was added"
        return reason if record.repeated else None
    if record.repeated and record.refused is None:
        return (
            f"the span {record.id.hex()} of the trace {record.trace.hex()} was sent again, unchanged; nothing was added"
        )
    return record.refused


_AT_ONCE = 500
"""turns that are read together"""
_find_span = sa.select(LiveSpan.entry).where(LiveSpan.session_id == sa.bindparam("session")).limit(1)
_find_entries = (
    sa.select(StoredTurn.entry, StoredTurn.ordinal, StoredTurn.source, StoredTurn.raw, StoredTurn.raw_at)
    .where(StoredTurn.session_id == sa.bindparam("session"))
    .order_by(StoredTurn.ordinal)
)
_bring_back = sa.update(Session).where(Session.id == sa.bindparam("session")).values(deleted_at=None, changed=change())


def grow(
    connection: sa.Connection, sessions: dict[str, list[Arrived]], dump_id: int, home: str
) -> list[SessionOutcome]:
    """Add those spans that the sessions lack, all or none; each of the others says why. The caller commits.

    New sessions are derived; those that grew are marked, for who called to derive.
    """
    by_name = lookup.stored(connection, list(sessions), otlp.name)
    for session in by_name.values():
        if connection.scalar(_find_span, {"session": session.id}) is None:
            _adopt(connection, session.id)
    spans = lookup.unknown(connection, {name: session.id for name, session in by_name.items()}, sessions)
    outcomes = [_append(connection, by_name[name], new) for name, new in spans.items() if name in by_name and new]
    derive.mark_stale(connection, [outcome.id for outcome in outcomes])
    outcomes += _begin(connection, {name: new for name, new in spans.items() if name not in by_name}, dump_id, home)
    append.mark_live(connection, [outcome.id for outcome in outcomes if outcome.new_turns])
    return outcomes


def _append(connection: sa.Connection, stored_session: Any, spans: list[Arrived]) -> SessionOutcome:
    session_id, batch = stored_session.id, TurnBatch()
    tally = stored_turns.places(connection, session_id)
    first = len(tally.positions)
    new = _numbered(spans, len(tally.firsts))
    spans_read = reading.read(connection, session_id, new, tally.originals)
    turn_rows = TurnRows(session_id, tally, batch, ignore, spans_read.twins)
    for ordinal, turn in spans_read.told:
        turn_rows.tell(ordinal, turn)
    for ordinal, turn in spans_read.learned:
        turn_rows.learn(ordinal, turn)
    for turn in spans_read.turns:
        if not turn_rows.add(turn):
            break
    batch.write(connection)
    reading.note(connection, session_id, new, first, spans_read.turns)
    settle(connection, session_id, tally, new)
    if stored_session.deleted:
        connection.execute(_bring_back, {"session": session_id})
    return SessionOutcome("grown", session_id, stored_session.key, stored_session.external_id, turn_rows.count - first)


def _begin(connection: sa.Connection, spans: dict[str, list[Arrived]], dump_id: int, home: str) -> list[SessionOutcome]:
    """Write sessions that begin with spans."""
    homes = rules.HomeChooser(rules.read(connection), home, home_of)
    new = {name: _numbered(of_session, 0) for name, of_session in spans.items()}
    inputs = [_read(connection, name, of_session, homes) for name, of_session in new.items()]
    outcomes = append.write(connection, inputs, dump_id=dump_id, on_problem=ignore)
    for of_session, session, outcome in zip(new.values(), inputs, outcomes, strict=True):
        reading.note(connection, outcome.id, of_session, 0, session.turns)
    return outcomes


def _read(connection: sa.Connection, name: str, spans: list[Arrived], homes: rules.HomeChooser) -> SessionInput:
    told_home, service = (_resource_text(spans, key) for key in (otlp.HOME, otlp.SERVICE))
    extra = program_in((("", span.entry) for span in spans[:LOOKED_AT]), {})
    start = SessionStart(name, otlp.name, told_home, service=service, extra=extra)
    return SessionInput(start, reading.read(connection, 0, spans, ()).turns, homes.choose(start, ignore))


def _resource_text(spans: list[Arrived], key: str) -> str | None:
    """What the first resource that says so says as `key`."""
    resources = (as_object(span.entry.get("resource")) for span in spans)
    return next(filter(None, (Attributes(one.get("attributes")).text(key) for one in resources)), None)


def ignore(_problem: Problem) -> None:
    """Places in a request say nothing once it is gone; what matters is said of each span."""


def _numbered(spans: list[Arrived], first: int) -> list[Arrived]:
    """The spans in the order of time, as entries of the session from `first` on."""
    spans = sorted(spans, key=lambda span: span.started)
    for number, span in enumerate(spans, first):
        span.number = number
    return spans


def _adopt(connection: sa.Connection, session_id: int) -> None:
    """Note the spans of a session that came as a file, so that it can grow; of a span that stands twice the first."""
    entry_turns = connection.execute(_find_entries, {"session": session_id}, execution_options={"yield_per": _AT_ONCE})
    listed: dict[tuple[bytes, bytes], rows.Row] = {}
    for entry, group in groupby(entry_turns, key=lambda turn: turn.entry):
        turns = list(group)
        span = next(iter(_span(whole_entry(turns[0].source, turns[0].raw, turns[0].raw_at))), None)
        if isinstance(span, Arrived):
            values = reading.row(session_id, span, entry, turns[0].ordinal, len(turns))
            listed.setdefault((span.trace, span.id), values)
    if listed:
        connection.execute(sa.insert(LiveSpan), list(listed.values()))


def _span(entry: Any) -> Iterator[Arrived | Problem]:
    if isinstance(entry, dict) and isinstance(entry.get("span"), dict):
        scopes = [{"scope": entry.get("scope"), "spans": [entry["span"]]}]
        yield from arrived([("", {"resource": entry.get("resource"), "scopeSpans": scopes})])


_turns = StoredTurn.__table__
_move = sa.update(_turns).where(_turns.c.id == sa.bindparam("turn")).values(position=sa.bindparam("place"))  # type: ignore[arg-type]
_after = (
    sa.select(LiveSpan.entry, LiveSpan.ordinal, LiveSpan.turns)
    .where(LiveSpan.session_id == sa.bindparam("session"), LiveSpan.started >= sa.bindparam("start"))
    .order_by(LiveSpan.started, LiveSpan.entry)
)


def settle(connection: sa.Connection, session_id: int, tally: Tally, new: list[Arrived]) -> None:
    """Put the turns of `new`, which stand at the end, where their spans belong; `new` is in the order of time."""
    after = connection.execute(_after, {"session": session_id, "start": new[0].started}).all()
    after = after[next(index for index, row in enumerate(after) if row.entry == new[0].number) :]
    if [row.entry for row in after] == [span.number for span in new]:
        return
    said = [at for row in after for at in range(row.ordinal, row.ordinal + row.turns)]
    behind = set(said)
    before_them = {original for at, original in enumerate(tally.originals) if at not in behind}
    order = [at for at in dict.fromkeys(tally.originals[at] for at in said) if at not in before_them]
    before = tally.positions[:]
    for at, place in zip(order, sorted(before[at] for at in order), strict=True):
        tally.positions[at] = place
    for at, original in enumerate(tally.originals):
        tally.positions[at] = tally.positions[original]
    first = session_id * TURNS_A_SESSION
    moved = [at for at, position in enumerate(tally.positions) if position != before[at]]
    if moved:
        connection.execute(_move, [{"turn": first + at, "place": tally.positions[at]} for at in moved])


_LIVE = 0x4C495645  # an arbitrary number of our own for PostgreSQL's advisory lock


def take(
    engine: sa.Engine, settings: Settings, spans: Sequence[Arrived], size: int, logged: Sequence[ArrivedLog] = ()
) -> None:
    """Store `spans` and what was `logged` in a request of `size` bytes, and note on each what became of it.

    Raises what the database raises: nothing of the request is stored then.
    """
    with database.writing(engine) as connection:
        take_locks(connection, _LIVE)
        dump_id = dump_of_today(connection)
        late = logs.kept(connection, logged)
        logs.attach(connection, spans)
        late += logs.overdue(connection, datetime.now(UTC) - logs.WAIT)
        outcomes = grow(connection, routed(connection, [*spans, *late]), dump_id, settings.home)
        count_arrivals(connection, dump_id, [*spans, *logged], outcomes, size)
    derive.grown(engine, [outcome.id for outcome in outcomes if outcome.what == "grown"])


def show_overdue(engine: sa.Engine, settings: Settings) -> None:
    """Show the log records whose span never came; for nothing, where none waits too long."""
    with engine.connect() as connection:
        waits = logs.some_overdue(connection, datetime.now(UTC) - logs.WAIT)
    if waits:
        take(engine, settings, [], 0)
