"""Keeps what each profile made of each labelled response, so that the scoreboard is one grouped query."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import jsontext, parsing
from webapp.parsing import Profile, Trace
from webapp.store.dialect import upsert
from webapp.store.judging import judge
from webapp.store.labelling import settling
from webapp.store.labelling.queue import brief
from webapp.store.labelling.settling import Labelled
from webapp.store.labelling.values import same_as
from webapp.store.models import TURNS_A_SESSION, Compared, Label, LabelEvent, Parse, Session

LONGEST = 200_000
"""Code points up to which a response is parsed for the scoreboard; of a longer one only stored parses are compared."""
NO_STRATEGY = "none"
NO_CAUSE, NO_MODEL = "no cause given", "no model named"
_AT_ONCE = 25

Result = tuple[str, str, str | None, str]
"""(version of the profile, outcome, policy by which it is right, strategy that won)"""
Results = dict[str, Result]
"""By profile; one that is not in it was not compared, since the response is too long."""


@dataclass(frozen=True, slots=True)
class Stood:
    """How many responses have the same `results`; `state` is known, unknown (not said what was meant), disputed."""

    state: str
    model: str
    cause: str
    results: Results
    count: int


def refresh(db: orm.Session, *, seconds: float) -> int:
    """Compare the responses whose labels changed since, for about `seconds`; how many are left then.

    A row counts the label events that it has seen: events are only ever added, so that none is missed however
    many people save at once.
    """
    ends = time.monotonic() + seconds
    profiles = list(parsing.profiles().values())
    ids = pending(db)
    done = 0
    try:
        while done < len(ids) and time.monotonic() < ends:
            with brief(db):
                done += _compare(db, ids[done : done + _AT_ONCE], profiles, ends)
            db.commit()
    except sa.exc.OperationalError:
        db.rollback()
    return len(ids) - done


def pending(db: orm.Session) -> list[int]:
    """The labelled turns that are not compared as they stand now, in order."""
    deleted = sa.select(Session.id).where(Session.deleted_at.is_not(None))
    visible = (Label.turn_id // TURNS_A_SESSION).not_in(deleted)
    labelled = sa.select(Label.turn_id).where(visible).distinct().subquery()
    query = sa.select(labelled.c.turn_id).outerjoin(Compared, Compared.turn_id == labelled.c.turn_id)
    query = query.outerjoin(_events, _events.c.turn_id == labelled.c.turn_id)
    return list(db.scalars(query.where(sa.not_(_fresh())).order_by(labelled.c.turn_id)))


def stood(db: orm.Session) -> list[Stood]:
    """What is kept, the same together; without those responses that are to be compared again."""
    columns = (Compared.state, Compared.model, Compared.cause, Compared.results)
    query = _valid(sa.select(*columns, sa.func.count().label("number"))).group_by(*columns)
    return [Stood(row.state, row.model, row.cause, _read(row.results), row.number) for row in db.execute(query)]


def rows(db: orm.Session, after: int, limit: int) -> list[tuple[int, str, str, Results]]:
    """(turn, model, cause, results) of the responses of which it is known what was meant, behind the turn `after`."""
    columns = (Compared.turn_id, Compared.model, Compared.cause, Compared.results)
    query = _valid(sa.select(*columns)).where(Compared.state == "known", Compared.turn_id > after)
    found = db.execute(query.order_by(Compared.turn_id).limit(limit))
    return [(turn_id, model, cause, _read(results)) for turn_id, model, cause, results in found]


def roots_of(profile: Profile) -> str:
    """Which of several values a profile gives: its attribute `roots`, or its policy of that name, else all."""
    policies = getattr(profile, "policies", None)
    return str(getattr(profile, "roots", None) or getattr(policies, "roots", "all"))


_events = (
    sa.select(LabelEvent.turn_id, sa.func.count().label("number")).group_by(LabelEvent.turn_id).subquery("events_of")
)


def _fresh() -> sa.ColumnElement[bool]:
    """Whether a row of `Compared` has seen all that happened to its labels, and every profile as it is now; of a
    response too long to be parsed here, every stored parse."""
    seen = sa.and_(Compared.turn_id.is_not(None), Compared.events == sa.func.coalesce(_events.c.number, 0))
    stored = sa.select(sa.func.count()).where(Parse.turn_id == Compared.turn_id).scalar_subquery()
    parsed = sa.or_(Compared.parses.is_(None), Compared.parses == stored)
    return sa.func.coalesce(sa.and_(seen, Compared.profiles == _versions(), parsed), sa.false())


def _valid(query: Any) -> Any:
    query = query.select_from(Compared).join(Session, Session.id == Compared.session_id)
    query = query.outerjoin(_events, _events.c.turn_id == Compared.turn_id)
    labelled = sa.exists().where(Label.turn_id == Compared.turn_id)
    return query.where(Session.deleted_at.is_(None), labelled, _fresh())


def _versions() -> str:
    text = " ".join(f"{name} {profile.version}" for name, profile in sorted(parsing.profiles().items()))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _compare(db: orm.Session, ids: list[int], profiles: list[Profile], ends: float) -> int:
    """Compare these turns until `ends`, and keep what came of it; how many were."""
    counted = sa.select(LabelEvent.turn_id, sa.func.count()).where(LabelEvent.turn_id.in_(ids))
    events = {row[0]: row[1] for row in db.execute(counted.group_by(LabelEvent.turn_id))}
    known = {row.turn_id: row for row in db.scalars(sa.select(Compared).where(Compared.turn_id.in_(ids)))}
    dialect = db.get_bind().dialect.name
    done = 0
    for labelled in settling.of_turns(db, ids):
        if time.monotonic() > ends:
            break
        values = _row(db, labelled, profiles, known.get(labelled.turn.id))
        db.execute(upsert(dialect, Compared, {**values, "events": events.get(labelled.turn.id, 0)}, ("turn_id",)))
        done += 1
    else:
        done = len(ids)
    db.expunge_all()
    return done


def _row(db: orm.Session, one: Labelled, profiles: list[Profile], known: Compared | None) -> dict[str, Any]:
    final = one.final
    meant = None if final is None else final.values
    digest = None if meant is None else hashlib.sha256(same_as(meant).encode()).hexdigest()[:32]
    old = _read(known.results) if known is not None and known.meant == digest else {}
    results = {} if meant is None else _results(db, one, meant, profiles, old)
    return {
        "turn_id": one.turn.id,
        "session_id": one.session.id,
        "state": "disputed" if final is None else "unknown" if meant is None else "known",
        "model": one.turn.model or NO_MODEL,
        "cause": (final.said.cause if final else None) or NO_CAUSE,
        "meant": digest,
        "profiles": _versions(),
        "results": jsontext.dumps(results),
        "parses": _parses(db, one) if meant is not None and len(results) < len(profiles) else None,
    }


def _parses(db: orm.Session, one: Labelled) -> int:
    return db.scalar(sa.select(sa.func.count()).where(Parse.turn_id == one.turn.id)) or 0


def _results(db: orm.Session, one: Labelled, meant: list[Any], profiles: list[Profile], old: Results) -> Results:
    found: Results = {}
    for profile in sorted(profiles, key=lambda profile: profile.name):
        kept = old.get(profile.name)
        result = kept if kept and kept[0] == profile.version else _result(db, one, meant, profile)
        if result is not None:
            found[profile.name] = result
    return found


def _result(db: orm.Session, one: Labelled, meant: list[Any], profile: Profile) -> Result | None:
    """What became of a response; None where it is too long to be parsed for this."""
    trace = _trace(db, one, profile)
    if trace is None:
        return None
    judged = judge(trace, meant, roots_of(profile))
    strategy = trace.attempts[trace.chosen[0]].strategy if trace.chosen else NO_STRATEGY
    return profile.version, judged.outcome, judged.policy, strategy


def _trace(db: orm.Session, one: Labelled, profile: Profile) -> Trace | None:
    raw = one.turn.raw or ""
    if len(raw) <= LONGEST:
        return parsing.parse(raw, profile)
    stored = db.scalar(sa.select(Parse).where(Parse.turn_id == one.turn.id, Parse.profile == profile.name))
    return Trace.from_dict(stored.trace) if stored and stored.version == profile.version else None


@lru_cache(maxsize=4096)
def _read(results: str) -> Results:
    return {name: tuple(result) for name, result in jsontext.loads(results).items()}
