"""Tries every profile on sessions whose parser is unknown and matters: how many texts would have failed under each.

It matters for texts that are neither plain JSON nor prose; a native call is JSON or it is broken, whoever reads it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import sqlalchemy as sa

from webapp import parsing
from webapp.parsing import Profile, why_absent
from webapp.store.db.database import writing
from webapp.store.models import DumpSession, FacetValue, Session, SessionFacet, Turn, is_response, turns_of
from webapp.store.sessions.where import listed
from webapp.store.write.parser import UNKNOWN

_AT_ONCE = 100

_trial_turns = (
    sa.select(SessionFacet.session_id, sa.func.sum(SessionFacet.count).label("texts"))
    .where(SessionFacet.value_id.in_(sa.select(FacetValue.id).where(FacetValue.name == "asked")))
    .group_by(SessionFacet.session_id)
    .subquery()
)
_UNNAMED = (Session.home_source == UNKNOWN, listed)
_UNKNOWN = (*_UNNAMED, _trial_turns.c.session_id == Session.id)
Ends = Callable[[], bool]
_COUNTED = ("failed", "none")


@dataclass(frozen=True, slots=True)
class ParserCandidate:
    """A profile that may be the parser: `failed` texts would have failed under it, and in `none` it finds no JSON.

    Both are None while they are counted.
    """

    profile: str
    failed: int | None
    none: int | None


@dataclass(frozen=True, slots=True)
class Question:
    """Sessions whose parser nobody named, with texts to which it matters: `not_json` of `responses` of all unnamed.

    `counted` of the sessions have been tried; `candidates` are the profiles in the order of `parsing.profiles`.
    """

    sessions: int
    responses: int
    not_json: int
    counted: int
    candidates: list[ParserCandidate]

    @property
    def is_counted(self) -> bool:
        return self.counted == self.sessions


def installed() -> dict[str, Profile]:
    """The profiles that can be run here."""
    return {name: profile for name, profile in parsing.profiles().items() if not why_absent(profile)}


def profiles_key() -> str:
    """Stands for today's profiles with their versions."""
    names = "\n".join(f"{name} {profile.version}" for name, profile in installed().items())
    return hashlib.sha256(names.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def question(connection: sa.Connection, where: sa.ColumnElement[bool] | None = None) -> Question | None:
    """What is asked about the sessions under `where`; None where no parser matters that somebody has not named, or
    left open."""
    query = sa.select(Session.response_count, _trial_turns.c.texts, Session.tried, Session.tried_key)
    query = query.where(*_UNKNOWN, sa.true() if where is None else where)
    rows = connection.execute(query).all()
    if not rows:
        return None
    key = profiles_key()
    tried = [row.tried for row in rows if row.tried_key == _key(key, row.response_count)]
    counted: dict[str, Counter[str]] = {verdict: Counter() for verdict in _COUNTED}
    for counts in tried:
        for verdict, of_verdict in counted.items():
            of_verdict.update(counts[verdict])
    is_counted = len(tried) == len(rows)
    numbers = {name: [counted[verdict][name] if is_counted else None for verdict in _COUNTED] for name in installed()}
    candidates = [ParserCandidate(name, *of_profile) for name, of_profile in numbers.items()]
    every = sa.select(sa.func.sum(Session.response_count)).where(*_UNNAMED, sa.true() if where is None else where)
    responses, texts = int(connection.scalar(every) or 0), sum(int(row.texts) for row in rows)
    return Question(len(rows), responses, texts, len(tried), candidates)


def of_dump(number: int) -> sa.ColumnElement[bool]:
    """For `question`: a dump's sessions."""
    return Session.id.in_(sa.select(DumpSession.session_id).where(DumpSession.dump_id == number))


def are_lacking(connection: sa.Connection) -> bool:
    """Whether there are sessions to try profiles on; where no parser matters, no profile is imported to say so."""
    if connection.scalar(sa.select(Session.id).where(*_UNKNOWN).limit(1)) is None:
        return False
    return connection.scalar(_lacking().limit(1)) is not None


def count_all(engine: sa.Engine, ends: Ends = lambda: False, where: sa.ColumnElement[bool] | None = None) -> None:
    """Try every profile on the sessions (of those under `where`) that lack it, one after the other.

    A response takes some 7 ms of a processor under all profiles together.
    """
    with engine.connect() as connection:
        lacking = _lacking().add_columns(Session.response_count)
        rows = connection.execute(lacking if where is None else lacking.where(where)).all()
    profiles, key = installed(), profiles_key()
    for number, responses in rows:
        if ends():
            return
        with engine.connect() as connection:
            counts = _tried(connection, number, profiles, ends)
        if counts is None:
            return
        still = sa.and_(Session.id == number, Session.home_profile == UNKNOWN)
        with writing(engine) as connection:
            values = {"tried": counts, "tried_key": _key(key, responses)}  # which of one that grew meanwhile is stale
            connection.execute(sa.update(Session).where(still).values(values))


def _tried(
    connection: sa.Connection, session_id: int, profiles: dict[str, Profile], ends: Ends
) -> dict[str, dict[str, int]] | None:
    """By verdict, how many texts have it under each profile; None where it `ends` before all were tried."""
    counts = {verdict: dict.fromkeys(profiles, 0) for verdict in _COUNTED}
    query = sa.select(Turn.id, Turn.raw).where(turns_of(Turn.id, session_id), is_response, Turn.kind == "response")
    with connection.execution_options(yield_per=_AT_ONCE).execute(query) as rows:
        for batch in rows.partitions():
            if ends():
                return None
            for row in batch:
                read = parsing.readings(row.raw)
                for name, profile in profiles.items():
                    if (verdict := read(profile).verdict) in counts:
                        counts[verdict][name] += 1
    return counts


def _lacking() -> sa.Select[int]:
    current = sa.literal(f"{profiles_key()}:").concat(sa.cast(Session.response_count, sa.String))
    stale = sa.or_(Session.tried_key.is_(None), Session.tried_key != current)
    query = sa.select(Session.id).where(*_UNKNOWN, stale)
    return query.order_by(Session.id.desc())


def _key(profiles: str, responses: int) -> str:
    return f"{profiles}:{responses}"
