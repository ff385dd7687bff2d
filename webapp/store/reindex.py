"""Fills in what sessions lack: the search index, and for those from before there were any, facets and findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.dumps.records import Turn as Record
from webapp.parsing import Trace
from webapp.store import database, noticing, search
from webapp.store.dialect import change
from webapp.store.facets import Facets, digest
from webapp.store.models import TURNS_A_SESSION, Label, Parse, Session, Turn
from webapp.store.parsed import OURS

MOST_BYTES = 4 * 1024 * 1024
"""of texts that wait to be indexed"""
_AT_ONCE = 100

Told = Callable[[int, int], None]


def reindex(engine: sa.Engine, *, anew: bool = False, told: Told = lambda _done, _of: None) -> int:
    """Fill in every session that lacks something, `anew` all; how many. `told` gets how many are done, of how many.

    A session is a transaction, the newest first, so that one that was killed goes on where it was.
    """
    if anew:
        with database.writing(engine) as connection:
            search.clear(connection)
    ids = lacking(engine)
    for done, number in enumerate(ids, 1):
        with database.writing(engine) as connection:
            _fill(connection, number)
        told(done, len(ids))
    return len(ids)


def lacking(engine: sa.Engine) -> list[int]:
    """The sessions that are not in the index or have no facets, the newest first."""
    with engine.connect() as connection:
        indexed = search.indexed(connection)
        rows = connection.execute(sa.select(Session.id, Session.facets.is_(None).label("bare")))
        return sorted((row.id for row in rows if row.bare or row.id not in indexed), reverse=True)


def _fill(connection: sa.Connection, number: int) -> None:
    wanted = (Session.home_profile, Session.external_id, Session.title, Session.facets)
    row = connection.execute(sa.select(*wanted).where(Session.id == number).with_for_update()).one_or_none()
    if row is None:
        return
    counted = Facets() if row.facets is None else None
    pending = None if search.is_indexed(connection, number) else search.Pending()
    if pending is not None:
        pending.note(*search.session_notes(number, row.external_id, row.title))
    size = 0
    for turn in connection.execute(_turns(number, row.home_profile).execution_options(yield_per=_AT_ONCE)):
        size += len((turn.raw or "").encode("utf-8", "surrogatepass"))
        if pending is not None:
            _index(connection, pending, turn)
        if counted is not None:
            _count(counted, turn)
    if pending is not None:
        pending.flush(connection)
        search.noted(connection, _labelled(connection, number))
    values: dict[str, Any] = {"raw_bytes": size, "changed": change()}
    if counted is not None:
        values["facets"] = counted.as_dict()
    connection.execute(sa.update(Session).where(Session.id == number).values(values))
    noticing.renew(connection, number)


def _index(connection: sa.Connection, pending: search.Pending, turn: sa.Row[*tuple[Any, ...]]) -> None:
    if turn.raw is not None:
        pending.text(turn.id, turn.raw.encode("utf-8", "surrogatepass"))
    if turn.recorded_failure is not None:
        pending.note(search.Note("failure", turn.id, turn.recorded_failure))
    if turn.home is not None and turn.home["verdict"] == "failed":
        pending.note(search.Note("error", turn.id, search.errors(Trace.from_dict(turn.home))))
    if pending.size > MOST_BYTES:
        pending.flush(connection)


def _count(counted: Facets, turn: sa.Row[*tuple[Any, ...]]) -> None:
    record = Record(turn.entry, turn.kind, agent=turn.agent, tool_calls=turn.tool_calls)
    counted.turn(record, {"phase": turn.phase, "agent": turn.agent})
    if turn.home is not None:
        traces = [Trace.from_dict(trace) for trace in (turn.home, turn.ours) if trace is not None]
        counted.response(turn.model, [digest(trace) for trace in traces])
    if turn.recorded_failure is not None:
        counted.failure(turn.recorded_failure)


def _labelled(connection: sa.Connection, number: int) -> Iterator[int]:
    low, high = number * TURNS_A_SESSION, (number + 1) * TURNS_A_SESSION
    return iter(connection.scalars(sa.select(Label.turn_id).where(Label.turn_id >= low, Label.turn_id < high)).all())


def _turns(number: int, home_profile: str) -> sa.Select[*tuple[Any, ...]]:
    """The session's turns without those merged into others; `ours` is NULL where that is the home profile too."""
    home, ours = orm.aliased(Parse), orm.aliased(Parse)
    names = ("id", "entry", "kind", "agent", "model", "phase", "raw", "tool_calls", "recorded_failure")
    query = sa.select(*(getattr(Turn, name) for name in names), home.trace.label("home"), ours.trace.label("ours"))
    query = query.outerjoin(home, sa.and_(home.turn_id == Turn.id, home.profile == home_profile))
    other = sa.and_(ours.turn_id == Turn.id, ours.profile == OURS, sa.literal(home_profile != OURS))
    query = query.outerjoin(ours, other)
    return query.where(Turn.session_id == number, Turn.duplicate_of.is_(None)).order_by(Turn.id)
