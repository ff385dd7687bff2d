"""Scanning: which responses of a stretch of sessions belong in a queue, and where they stand in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import parsing
from webapp.parsing import Trace
from webapp.store.labelling.grouping import likeness
from webapp.store.labelling.values import same_as
from webapp.store.models import Parse, Session, Turn
from webapp.store.parsed import OURS
from webapp.store.tally import READABLE
from webapp.store.turns import MODEL_KINDS

PARSED_HERE = 8_000
"""Code points up to which a response is parsed under every profile to see whether they disagree; beyond, only the
stored parses are compared."""
_MILLISECONDS = 2**42


@dataclass(frozen=True, slots=True)
class Candidate:
    """A response with what is stored of it."""

    turn_id: int
    session_id: int
    raw: str
    home_profile: str
    happened_at: datetime
    home: str | None
    ours: str | None
    recorded: bool
    traces: tuple[Trace, ...] = ()

    @property
    def failed(self) -> bool:
        return self.recorded or self.home == "failed"


@dataclass(frozen=True, slots=True)
class Found:
    """A response that belongs in the queue; a lower `rank` comes sooner."""

    turn_id: int
    session_id: int
    rank: int
    likeness: bytes


def scan(
    db: orm.Session, kind: str, session_ids: Sequence[int], after: int, limit: int, *, only_failed: bool = False
) -> tuple[list[Found], int | None]:
    """The responses of these sessions that `kind` takes, behind turn `after`; and the turn to go on behind, if any."""
    query = _query(session_ids).where(Turn.id > after).order_by(Turn.id).limit(limit)
    if kind == "failed" or only_failed:
        query = query.where(sa.or_(Turn.recorded_failure.is_not(None), _home.verdict == "failed"))
    if kind == "silent":
        doubtful = sa.or_(_home.verdict != "clean", _ours.verdict != "clean", _ours.ambiguous)
        query = query.where(Turn.recorded_failure.is_(None), _home.verdict.in_(READABLE), doubtful)
    rows = db.execute(query).all()
    candidates = [Candidate(**row._mapping) for row in rows]
    if kind in ("silent", "disagree"):
        candidates = list(_with_traces(db, candidates))
    found = [one for candidate in candidates if (one := _placed(kind, candidate)) is not None]
    return found, rows[-1].turn_id if len(rows) == limit else None


def of_turns(db: orm.Session, turn_ids: Iterable[int]) -> list[Found]:
    """Those of these turns that are responses, ranked in the order given."""
    ranks = {turn_id: rank for rank, turn_id in enumerate(turn_ids)}
    rows = db.execute(_query(None).where(Turn.id.in_(list(ranks))))
    found = (_found(Candidate(**row._mapping), 0) for row in rows)
    return [Found(one.turn_id, one.session_id, ranks[one.turn_id], one.likeness) for one in found]


_home, _ours = orm.aliased(Parse), orm.aliased(Parse)


def _query(session_ids: Sequence[int] | None) -> sa.Select[*tuple[Any, ...]]:
    query: sa.Select[*tuple[Any, ...]] = (
        sa.select(
            Turn.id.label("turn_id"),
            Turn.session_id,
            Turn.raw,
            Session.home_profile,
            Session.happened_at,
            _home.verdict.label("home"),
            _ours.verdict.label("ours"),
            Turn.recorded_failure.is_not(None).label("recorded"),
        )
        .join(Session, Session.id == Turn.session_id)
        .outerjoin(_home, sa.and_(_home.turn_id == Turn.id, _home.profile == Session.home_profile))
        .outerjoin(_ours, sa.and_(_ours.turn_id == Turn.id, _ours.profile == OURS))
        .where(Turn.kind.in_(MODEL_KINDS), Turn.raw.is_not(None), Turn.duplicate_of.is_(None))
        .where(Session.deleted_at.is_(None))
    )
    return query if session_ids is None else query.where(Turn.session_id.in_(session_ids))


def _with_traces(db: orm.Session, candidates: Sequence[Candidate]) -> Iterator[Candidate]:
    ids = [candidate.turn_id for candidate in candidates]
    stored: dict[int, list[Trace]] = {}
    for parse in db.execute(sa.select(Parse.turn_id, Parse.trace).where(Parse.turn_id.in_(ids))):
        stored.setdefault(parse.turn_id, []).append(Trace.from_dict(parse.trace))
    for one in candidates:
        yield Candidate(
            *(one.turn_id, one.session_id, one.raw, one.home_profile, one.happened_at),
            *(one.home, one.ours, one.recorded),
            tuple(stored.get(one.turn_id, ())),
        )


def _placed(kind: str, candidate: Candidate) -> Found | None:
    if kind == "silent":
        return _found(candidate, 0) if is_silent(candidate) else None
    if kind != "disagree":
        return _found(candidate, 0)
    results = disagreement(candidate)
    return _found(candidate, results) if results > 1 else None


def is_silent(candidate: Candidate) -> bool:
    """Whether production took a value that may not be the one that was meant: `fencepost` reads another or nothing,
    cannot choose between several, or sees that the value was cut off or lies inside a larger one that is broken."""
    traces = {trace.profile: trace for trace in candidate.traces}
    home, ours = traces.get(candidate.home_profile), traces.get(OURS)
    if home is None or ours is None or not home.chosen:
        return False
    if same_as(home.values) != same_as(ours.values):
        return True
    return ours.ambiguous or ours.truncated or _is_fragment(home)


def disagreement(candidate: Candidate) -> int:
    """How many different results the profiles have, no value being one of them."""
    if candidate.home == candidate.ours == "clean" and len(candidate.traces) <= 2:
        return 1
    traces = {trace.profile: trace for trace in candidate.traces}
    if len(candidate.raw) <= PARSED_HERE:
        for name, profile in parsing.profiles().items():
            if name not in traces:
                traces[name] = parsing.parse(candidate.raw, profile)
    return len({same_as(trace.values) if trace.chosen else "" for trace in traces.values()})


def _is_fragment(trace: Trace) -> bool:
    """Whether a chosen span lies inside a larger candidate that could not be decoded."""
    chosen = [trace.attempts[index].span for index in trace.chosen]
    broken = [attempt.span for attempt in trace.attempts if attempt.outcome == "failed" and attempt.strategy != "whole"]
    return any(outer.start < span.start and span.end < outer.end for span in chosen for outer in broken)


def _found(candidate: Candidate, score: int) -> Found:
    newest = int(candidate.happened_at.timestamp() * 1000)
    digest = likeness(candidate.raw, candidate.home_profile, candidate.home, candidate.ours)
    return Found(candidate.turn_id, candidate.session_id, -(score * _MILLISECONDS) - newest, digest)
