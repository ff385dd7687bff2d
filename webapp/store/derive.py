"""Makes all that follows from a session's facts, in place of what was made of them before: the one function that does.

Facts are the turns as they came, and the home profile. Made of them are verdicts, counters, strip, facets, findings,
failure groups, contract states and what search says of errors. Whoever appends facts derives afterwards.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache, partial
from typing import Any

import sqlalchemy as sa

from webapp.parsing import ABSENT, Profile, Trace
from webapp.store.db import database, types
from webapp.store.db.dialect import change, insert_new
from webapp.store.db.ids import session_notes
from webapp.store.models import (
    MODEL_KINDS,
    TURNS_A_SESSION,
    FacetValue,
    FailedResponse,
    Finding,
    Session,
    SessionFacet,
    TurnContract,
)
from webapp.store.search import index
from webapp.store.write import facets, rows, stored_turns
from webapp.store.write.parser import OURS, UNKNOWN
from webapp.store.write.session_state import SessionParser, SessionState, is_known
from webapp.store.write.stored_turns import pages, placed, stored_traces

SHARE = 10
"""a session that grows is derived again no sooner than after so many times as long as that took"""
_TRIES, _MOST_AT_ONCE = 5, 100
_sessions: sa.Table = Session.__table__  # type: ignore[assignment]
_columns = (
    *(Session.id, Session.home_profile, Session.ingested_at, Session.service, Session.changed),
    *(Session.source_format, Session.extra, Session.turn_count, Session.external_id, Session.title),
)
_find = sa.select(*_columns).where(Session.id.between(sa.bindparam("first"), sa.bindparam("last")))
_lock = _find.order_by(Session.id).with_for_update(key_share=True)
_update = sa.update(_sessions).where(_sessions.c.id == sa.bindparam("session")).values(changed=change(), stale=False)
_find_stale = sa.select(Session.id).where(Session.stale).order_by(Session.id).limit(1000)
_values = types.plain(FacetValue)
_new_value = insert_new(_values, None, ("name", "value"))
_number = sa.select(_values.c.id).where(_values.c.name == sa.bindparam("of"), _values.c.value == sa.bindparam("is"))
_has_value = sa.insert(SessionFacet).values(
    session_id=sa.bindparam("session"), value_id=_number.scalar_subquery(), count=sa.bindparam("times")
)
"""a row of values, not one selected: before each of those SQLite has FTS5 write out what it holds of the index"""
_forget_values = sa.delete(SessionFacet).where(
    SessionFacet.session_id.between(sa.bindparam("first"), sa.bindparam("last"))
)
_new_parse = insert_new(rows.parses, None, ("turn_id", "profile"))
"""but for those that somebody else made meanwhile"""
_new_finding, _new_contract, _new_failed = sa.insert(Finding), sa.insert(TurnContract), sa.insert(FailedResponse)
_mark = sa.update(_sessions).where(_sessions.c.id.in_(sa.bindparam("sessions", expanding=True)))


Keep = Callable[[list[rows.Row]], object]
"""takes rows of parses that were made while turns were read"""


def derive(connection: sa.Connection, session_ids: Iterable[int]) -> None:
    """Derive sessions; those that are gone are left out. Nobody else writes them until the caller commits."""
    for first, last in _runs(session_ids):
        sessions = connection.execute(_lock, {"first": first, "last": last}).all()
        states = _made(connection, sessions, partial(connection.execute, _new_parse))
        _write(connection, sessions, states)


def settle(
    engine: sa.Engine,
    session_ids: Iterable[int],
    also: Profile | None = None,
    on_kept: Callable[[int], object] = lambda _: None,
) -> None:
    """Derive sessions in transactions of their own, none of which is long, however long a session is.

    What lacks a parse is parsed first, by `also` too, and written some at a time; `on_kept` hears of how many responses
    each time. The rest is made outside of a transaction and written in one, if nobody wrote these sessions meanwhile.
    """

    def keep(new: list[rows.Row]) -> None:
        with database.writing_long(engine) as connection:
            present = {row.id for row in connection.execute(_lock, about)}
            if kept := [row for row in new if row["turn_id"] // TURNS_A_SESSION in present]:
                connection.execute(_new_parse, kept)
        on_kept(len({row["turn_id"] for row in new}))

    for first, last in _runs(session_ids):
        about = {"first": first, "last": last}
        if not any(_settled(engine, about, keep, also) for _ in range(_TRIES)):
            with database.writing_long(engine) as connection:
                derive(connection, range(first, last + 1))


def _settled(engine: sa.Engine, about: dict[str, int], keep: Keep, also: Profile | None) -> bool:
    with engine.connect() as connection:
        sessions = connection.execute(_find, about).all()
        states = _made(connection, sessions, keep, also)
    with database.writing_long(engine) as connection:
        if is_same := connection.execute(_lock, about).all() == sessions:
            _write(connection, sessions, states)
        return is_same


def mark_stale(connection: sa.Connection, session_ids: Collection[int]) -> None:
    """Say that facts were appended of which nothing is made yet, so that somebody does who comes by."""
    if session_ids:
        connection.execute(_mark.values(stale=True, changed=change()), {"sessions": list(session_ids)})


_rests = database.PerEngine[dict[int, float]](dict)
"""when sessions that grow may be derived again, in seconds of the clock that only goes forward"""


def grown(engine: sa.Engine, session_ids: Iterable[int]) -> None:
    """Derive sessions that grew, but for those of which that was done a moment ago: `catch_up` does these later."""
    rests = _rests(engine)
    for session_id in session_ids:
        if (began := time.monotonic()) >= rests.get(session_id, began):
            settle(engine, [session_id])
            ended = time.monotonic()
            for number in [number for number, until in list(rests.items()) if until <= ended]:
                rests.pop(number, None)
            rests[session_id] = ended + SHARE * (ended - began)


def catch_up(engine: sa.Engine) -> None:
    """Derive what grew and was left, also by a process that was killed, but for what rests."""
    with engine.connect() as connection:
        stale = connection.scalars(_find_stale).all()
    grown(engine, stale)


def _runs(session_ids: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Neighbouring numbers as first and last: their turns are read together."""
    run: list[int] = []
    for number in sorted(set(session_ids)):
        if run and (number != run[-1] + 1 or len(run) == _MOST_AT_ONCE):
            yield run[0], run[-1]
            run.clear()
        run.append(number)
    if run:
        yield run[0], run[-1]


def _made(
    connection: sa.Connection, sessions: Iterable[Any], keep: Keep, also: Profile | None = None
) -> list[SessionState]:
    """The state of each session, from all of its stored turns."""
    states = dict[int, SessionState]()
    for row in sessions:
        states[row.id] = SessionState(row.id, row.home_profile, row.ingested_at, row.service)
        about = facets.of_session(row.home_profile, row.source_format, row.service, row.extra)
        states[row.id].facets.counts.update(about)
        states[row.id].notes += session_notes(row.id, row.external_id, row.title)
    parsers, declared = cache(partial(_parser, also=also)), stored_turns.declarations(connection)
    late = stored_turns.late(connection, min(states), max(states)) if states else {}
    for session_id, tally in late.items():
        states[session_id].tally = tally
    for page in pages(connection, min(states), max(states), late) if states else ():
        stored, new = stored_traces(connection, page), list[rows.Row]()
        for row in page:
            state = states[row.session_id]
            traces, others = _traces(row, state.home, parsers(state.home), stored.get(row.id, {}), new)
            if row.session_id not in late:
                state.tally.put(row.entry, row.kind, row.raw is not None, row.original, row.position)
            answers = None if row.answers is None else state.tally.positions[row.answers]
            state.see(placed(row, answers, declared(row.declaration_id), traces, others))
            if row.recorded_failure is not None:
                state.fail(row.ordinal, row.recorded_failure)
        if new:
            keep(new)
    for state in states.values():
        state.settle()
    return list(states.values())


def _parser(home: str, also: Profile | None) -> SessionParser:
    """A profile of one's own may be gone: then `fencepost` alone parses."""
    return SessionParser(home if home == UNKNOWN or is_known(home) else UNKNOWN, also)


def _traces(
    row: Any, home: str, parser: SessionParser, traces: dict[str, Trace], new: list[rows.Row]
) -> tuple[tuple[Trace, ...], tuple[Trace, ...]]:
    """The traces of a turn under home and `fencepost`, and the others, all parsed now where they are missing. Of a
    profile that could not be started there is none: nothing stands for it anywhere, and the next time it is tried."""
    if row.original is not None or row.raw is None or row.kind not in MODEL_KINDS:
        return (), ()
    for name in reversed(parser.names):
        if name not in traces and (trace := parser.trace(row.raw, name)).version != ABSENT:
            traces[name] = trace
            new.append(rows.parse_row(row.id, trace))
    counted = tuple(traces.pop(name) for name in dict.fromkeys((home, OURS)) if name in traces)
    return counted, tuple(traces.values())


def _write(connection: sa.Connection, sessions: Sequence[Any], states: list[SessionState]) -> None:
    """Put what was made in place of what was made before, if anything was: none of the turns of a new session count."""
    ids = [state.session_id for state in states]
    if not ids:
        return
    if any(session.turn_count for session in sessions):
        _forget(connection, ids[0], ids[-1])
    connection.execute(_update, [{"session": state.session_id, **state.columns()} for state in states])
    findings = [{"session_id": one.session_id} | asdict(finding) for one in states for finding in one.findings]
    contracts = [row for one in states for row in one.contracts]
    failed = [row for one in states for row in one.failed.rows(one.happened_at)]
    for insert, values in ((_new_finding, findings), (_new_contract, contracts), (_new_failed, failed)):
        if values:
            connection.execute(insert, values)
    index.index_notes(connection, [note for one in states for note in one.notes])
    _replace_facets(connection, ids[0], ids[-1], {state.session_id: state.facets.counts for state in states})


def _forget(connection: sa.Connection, first: int, last: int) -> None:
    for table in (Finding, FailedResponse):
        connection.execute(sa.delete(table).where(table.session_id.between(first, last)))
    of_these = TurnContract.turn_id.between(first * TURNS_A_SESSION, (last + 1) * TURNS_A_SESSION - 1)
    connection.execute(sa.delete(TurnContract).where(of_these))
    index.forget_errors(connection, first, last)


def reindex(
    engine: sa.Engine,
    *,
    anew: bool = False,
    every: bool = False,
    on_progress: Callable[[int, int], None] = lambda _count, _of: None,
) -> int:
    """Derive the sessions that are not, or `every` one, as for a new rule, the newest first; how many.

    `anew` makes the search index anew, too. That is one transaction, then each session is, so that one that was killed
    goes on where it was. `on_progress` gets how many, of how many.
    """
    if anew:
        with database.writing(engine) as connection:
            rebuild(connection)
    query = sa.select(Session.id).order_by(Session.id.desc())
    with engine.connect() as connection:
        ids = connection.scalars(query if every else query.where(Session.stale)).all()
    for count, session_id in enumerate(ids, 1):
        settle(engine, [session_id])
        on_progress(count, len(ids))
    return len(ids)


def rebuild(connection: sa.Connection) -> None:
    """Make the search index of all sessions, which are to be derived then; the caller commits."""
    connection.execute(sa.update(Session).values(stale=True))  # first, as labels are saved: neither waits for the other
    index.rebuild(connection)


def _replace_facets(connection: sa.Connection, first: int, last: int, counted: Mapping[int, facets.Counts]) -> None:
    """Put what sessions have, by their numbers, in place of all rows of those from `first` to `last`.

    Values that are new get their numbers in one order, so that no two writers deadlock.
    """
    connection.execute(_forget_values, {"first": first, "last": last})
    values = sorted({pair for counts in counted.values() for pair in counts})
    if values:
        connection.execute(_new_value, [{"name": name, "value": value} for name, value in values])
        rows = [
            {"session": session_id, "of": name, "is": value, "times": count}
            for session_id, counts in counted.items()
            for (name, value), count in counts.items()
        ]
        connection.execute(_has_value, rows)
