"""Keeps what each profile made of each labelled response, so that the scoreboard is one grouped query."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import jsontext, parsing
from webapp.gate.judging import judge, roots_of
from webapp.parsing import Profile, Trace, why_absent
from webapp.store.db.dialect import upsert
from webapp.store.homes.trials import profiles_key
from webapp.store.labels import settling
from webapp.store.labels.label_content import same_as
from webapp.store.labels.settling import Labelled
from webapp.store.models import TURNS_A_SESSION, Compared, Label, LabelEvent, Parse, Session

LONGEST = 200_000
"""Code points up to which a response is parsed for the scoreboard; of a longer one only stored parses are compared."""
NO_STRATEGY = "none"
NO_CAUSE, NO_MODEL = "no cause given", "no model named"
SECONDS = 1.5
"""for one request: what is not compared by then is counted as waiting, and the next request goes on"""
_AT_ONCE = 25
_ROWS_AT_ONCE = 1000

Result = tuple[str, str, str | None, str]
"""(version of the profile, outcome, policy by which it is right, strategy that won)"""
Results = dict[str, Result]
"""By profile; one that is not in it was not compared, since the response is too long."""


def refresh(db: orm.Session, *, seconds: float | None = None) -> int:
    """Compare the responses whose labels changed since, for about `seconds` (`SECONDS`) and at least one of them,
    however busy the machine is; how many are left then.

    A row counts the label events that it has seen: events are only ever added, so that none is missed however
    many people save at once.
    """
    ends = time.monotonic() + (SECONDS if seconds is None else seconds)
    profiles = [profile for profile in parsing.profiles().values() if not why_absent(profile)]
    ids = pending(db)
    count = 0
    try:
        while count < len(ids) and (count == 0 or time.monotonic() < ends):
            with brief(db):
                count += _compare(db, ids[count : count + _AT_ONCE], profiles, ends)
            db.commit()
    except sa.exc.OperationalError:
        db.rollback()
    return len(ids) - count


@contextmanager
def brief(db: orm.Session) -> Iterator[None]:
    """Wait for SQLite's write lock for a moment only: who looks at a page does not wait for an ingest."""
    if db.get_bind().dialect.name != "sqlite":
        yield
        return
    raw: Any = db.connection().connection.dbapi_connection
    raw.execute("PRAGMA busy_timeout=200")
    try:
        yield
    finally:
        raw.execute("PRAGMA busy_timeout=30000")


def pending(db: orm.Session) -> list[int]:
    """The labelled turns that are not compared as they stand now, in order."""
    deleted = sa.select(Session.id).where(Session.deleted_at.is_not(None))
    visible = (Label.turn_id // TURNS_A_SESSION).not_in(deleted)
    labelled = sa.select(Label.turn_id).where(visible).distinct().subquery()
    query = sa.select(labelled.c.turn_id).outerjoin(Compared, Compared.turn_id == labelled.c.turn_id)
    query = query.outerjoin(_events, _events.c.turn_id == labelled.c.turn_id)
    return list(db.scalars(query.where(sa.not_(_fresh())).order_by(labelled.c.turn_id)))


def groups(db: orm.Session) -> Iterator[tuple[str, str, str, Results, int]]:
    """(state, model, cause, results, how many responses are so), without those that are to be compared again.

    The state is known, unknown (not said what was meant) or disputed.
    """
    columns = (Compared.state, Compared.model, Compared.cause, Compared.results)
    for *same, results, count in db.execute(_valid(sa.select(*columns, sa.func.count())).group_by(*columns)):
        yield *same, _read(results), count


def known(db: orm.Session, after: int = -1) -> Iterator[tuple[int, str, str, Results]]:
    """(turn, model, cause, results) of the responses of which it is known what was meant, behind the turn `after`."""
    columns = (Compared.turn_id, Compared.model, Compared.cause, Compared.results)
    query = _valid(sa.select(*columns)).where(Compared.state == "known").order_by(Compared.turn_id).limit(_ROWS_AT_ONCE)
    while rows := db.execute(query.where(Compared.turn_id > after)).all():
        for after, model, cause, results in rows:
            yield after, model, cause, _read(results)


_event_counts = sa.select(LabelEvent.turn_id, sa.func.count().label("number")).group_by(LabelEvent.turn_id)
_events = _event_counts.subquery("events_of")


def _fresh() -> sa.ColumnElement[bool]:
    """Whether a row of `Compared` has seen all that happened to its labels, and every profile as it is now; of a
    response too long to be parsed here, every stored parse."""
    all_events = sa.and_(Compared.turn_id.is_not(None), Compared.events == sa.func.coalesce(_events.c.number, 0))
    parse_count = sa.select(sa.func.count()).where(Parse.turn_id == Compared.turn_id).scalar_subquery()
    parsed = sa.or_(Compared.parses.is_(None), Compared.parses == parse_count)
    return sa.func.coalesce(sa.and_(all_events, Compared.profiles == profiles_key(), parsed), sa.false())


def _valid(query: Any) -> Any:
    query = query.select_from(Compared).join(Session, Session.id == Compared.session_id)
    query = query.outerjoin(_events, _events.c.turn_id == Compared.turn_id)
    labelled = sa.exists().where(Label.turn_id == Compared.turn_id)
    return query.where(Session.deleted_at.is_(None), labelled, _fresh())


def _compare(db: orm.Session, ids: list[int], profiles: list[Profile], ends: float) -> int:
    """Compare these turns until `ends`, the first in any case, and keep what came of it; how many were."""
    events = {row[0]: row[1] for row in db.execute(_event_counts.where(LabelEvent.turn_id.in_(ids)))}
    old_rows = {row.turn_id: row for row in db.scalars(sa.select(Compared).where(Compared.turn_id.in_(ids)))}
    count = 0
    for labelled in settling.of_turns(db, ids):
        if count and time.monotonic() >= ends:
            break
        values = _row(db, labelled, profiles, old_rows.get(labelled.turn.id))
        db.execute(upsert(Compared, {**values, "events": events.get(labelled.turn.id, 0)}, ("turn_id",)))
        count += 1
    else:
        count = len(ids)
    db.expunge_all()
    return count


def _row(db: orm.Session, response: Labelled, profiles: list[Profile], old_row: Compared | None) -> dict[str, Any]:
    final = response.final
    meant = None if final is None else final.values
    digest = None if meant is None else hashlib.sha256(same_as(meant).encode()).hexdigest()[:32]
    old = _read(old_row.results) if old_row is not None and old_row.meant == digest else {}
    results = {} if meant is None else _results(db, response, meant, profiles, old)
    parse_count = None
    if meant is not None and len(results) < len(profiles):
        parse_count = db.scalar(sa.select(sa.func.count()).where(Parse.turn_id == response.turn.id)) or 0
    return {
        "turn_id": response.turn.id,
        "session_id": response.session.id,
        "state": "disputed" if final is None else "unknown" if meant is None else "known",
        "model": response.turn.model or NO_MODEL,
        "cause": (final.content.cause if final else None) or NO_CAUSE,
        "meant": digest,
        "profiles": profiles_key(),
        "results": jsontext.dumps(results),
        "parses": parse_count,
    }


def _results(db: orm.Session, response: Labelled, meant: list[Any], profiles: list[Profile], old: Results) -> Results:
    results: Results = {}
    for profile in sorted(profiles, key=lambda profile: profile.name):
        result = old.get(profile.name)
        if result is None or result[0] != profile.version:
            result = _result(db, response, meant, profile)
        if result is not None:
            results[profile.name] = result
    return results


def _result(db: orm.Session, response: Labelled, meant: list[Any], profile: Profile) -> Result | None:
    """What became of a response; None where it is too long to be parsed for this."""
    trace = _trace(db, response, profile)
    if trace is None:
        return None
    judged = judge(trace.values, meant, roots_of(profile))
    strategy = trace.attempts[trace.chosen[0]].strategy if trace.chosen else NO_STRATEGY
    return profile.version, judged.outcome, judged.policy, strategy


def _trace(db: orm.Session, response: Labelled, profile: Profile) -> Trace | None:
    raw = response.turn.raw or ""
    if len(raw) <= LONGEST:
        return parsing.parse(raw, profile)
    parse = db.scalar(sa.select(Parse).where(Parse.turn_id == response.turn.id, Parse.profile == profile.name))
    return Trace.from_dict(parse.trace) if parse and parse.version == profile.version else None


@lru_cache(maxsize=4096)
def _read(results: str) -> Results:
    return {name: tuple(result) for name, result in jsontext.loads(results).items()}
