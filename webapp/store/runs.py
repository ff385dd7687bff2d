"""Runs: a profile over many stored responses, its parses stored and its results counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import parsing
from webapp.parsing import Profile, Trace
from webapp.store import growth, recounting, rows, sessions
from webapp.store.database import writing
from webapp.store.dialect import change
from webapp.store.models import TURNS_A_SESSION, Parse, ParseRepair, Run, Session, Turn
from webapp.store.parsed import OURS
from webapp.store.tally import READABLE
from webapp.store.turns import MODEL_KINDS

AT_ONCE = 200
"""responses parsed and written in one transaction"""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class RunLine:
    """What a run found: `counts` holds responses, each verdict, failed, rescued; `failed` is in production."""

    id: int
    profile: str
    version: str
    scope: dict[str, Any]
    state: str
    counts: dict[str, int]


def replay(engine: sa.Engine, profile: str, *, session: str | None = None, progress: Progress | None = None) -> RunLine:
    """Parse every stored response (or one session's) with `profile` and keep the traces in place of older ones.

    A response that this version has parsed already is only counted. What was parsed anew is counted anew in its
    session's facets, and in its counters where this is the home profile or `fencepost`. `progress` hears how many of
    how many are done.
    Raises `UnknownProfile`, `NoSuchSession`.
    """
    parser = parsing.profile(profile)
    scope = _scope(engine, session)
    run_id, total = _begin(engine, profile, scope)
    counts = dict.fromkeys(("responses", "clean", "extracted", "repaired", "failed", "none", "rescued"), 0)
    touched: set[int] = set()
    after = -1
    while batch := _batch(engine, scope, parser, after):
        after = batch[-1].id
        touched |= _store(engine, parser, batch, counts)
        _note(engine, run_id, state="running", progress=counts["responses"] / max(1, total), counts=counts)
        if progress is not None:
            progress(counts["responses"], total)
    _recount(engine, parser.name, touched)
    _note(engine, run_id, state="done", progress=1.0, counts=counts, finished_at=datetime.now(UTC))
    return RunLine(run_id, parser.name, parser.version, scope, "done", counts)


def _scope(engine: sa.Engine, session: str | None) -> dict[str, Any]:
    if session is None:
        return {}
    with orm.Session(engine) as db:
        return {"session_id": sessions.find(db, session).id}


def _begin(engine: sa.Engine, profile: str, scope: dict[str, Any]) -> tuple[int, int]:
    with writing(engine) as connection:
        values = {"profile": profile, "scope": scope, "state": "running", "started_at": datetime.now(UTC)}
        run_id = connection.scalars(sa.insert(Run).values(values).returning(Run.id)).one()
        total = connection.scalar(sa.select(sa.func.count()).select_from(Turn).where(*_responses(scope)))
    return run_id, total or 0


def _responses(scope: dict[str, Any]) -> Iterator[sa.ColumnElement[bool]]:
    yield from (Turn.kind.in_(MODEL_KINDS), Turn.raw.is_not(None), Turn.duplicate_of.is_(None))
    if scope:
        yield Turn.session_id == scope["session_id"]


def _batch(engine: sa.Engine, scope: dict[str, Any], parser: Profile, after: int) -> list[sa.Row[*tuple[Any, ...]]]:
    """The next responses, with what is stored of them: this profile's version and verdict, the home verdict."""
    mine, home = orm.aliased(Parse), orm.aliased(Parse)
    query = (
        sa.select(
            *(Turn.id, Turn.raw, mine.version, mine.verdict),
            sa.or_(home.verdict == "failed", Turn.recorded_failure.is_not(None)).label("failed"),
        )
        .join(Session, Session.id == Turn.session_id)
        .outerjoin(mine, sa.and_(mine.turn_id == Turn.id, mine.profile == parser.name))
        .outerjoin(home, sa.and_(home.turn_id == Turn.id, home.profile == Session.home_profile))
        .where(*_responses(scope), Turn.id > after)
        .order_by(Turn.id)
        .limit(AT_ONCE)
    )
    with engine.connect() as connection:
        return list(connection.execute(query))


def _store(
    engine: sa.Engine, parser: Profile, batch: list[sa.Row[*tuple[Any, ...]]], counts: dict[str, int]
) -> set[int]:
    """Parse what this version has not parsed, count all; the sessions that got new parses."""
    fresh: dict[int, Trace] = {}
    for row in batch:
        if row.version != parser.version:
            fresh[row.id] = parsing.parse(row.raw, parser)
        verdict = fresh[row.id].verdict if row.id in fresh else row.verdict
        counts["responses"] += 1
        counts[verdict] += 1
        counts["rescued"] += bool(row.failed) and verdict in READABLE
    if fresh:
        _replace(engine, parser.name, fresh)
    return {turn_id // TURNS_A_SESSION for turn_id in fresh}


def _recount(engine: sa.Engine, profile: str, sessions: set[int]) -> None:
    for session_id in sorted(sessions):
        with writing(engine) as connection:
            home = connection.scalars(sa.select(Session.home_profile).where(Session.id == session_id)).one_or_none()
            if home is None:
                continue
            values: dict[str, Any] = recounting.recounted(connection, session_id, home)
            if profile in (home, OURS):
                values |= growth.restored(connection, session_id, home).counters()
            connection.execute(sa.update(Session).where(Session.id == session_id).values(**values, changed=change()))


def _replace(engine: sa.Engine, profile: str, traces: dict[int, Trace]) -> None:
    ids = list(traces)
    repaired = [row for turn_id, trace in traces.items() for row in rows.repair_rows(turn_id, trace)]
    with writing(engine) as connection:
        connection.execute(sa.delete(Parse).where(Parse.turn_id.in_(ids), Parse.profile == profile))
        connection.execute(sa.delete(ParseRepair).where(ParseRepair.turn_id.in_(ids), ParseRepair.profile == profile))
        parsed = [rows.parse_row(turn_id, trace) for turn_id, trace in traces.items()]
        connection.execute(rows.parses.insert(), parsed)
        if repaired:
            connection.execute(rows.repairs.insert(), repaired)


def _note(engine: sa.Engine, run_id: int, **values: Any) -> None:
    with writing(engine) as connection:
        connection.execute(sa.update(Run).where(Run.id == run_id).values(values))
