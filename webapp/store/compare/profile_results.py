"""What each profile makes of each labelled response of which it is known what was meant, for scoreboard and comparison.

A verdict on a response is remembered with the values that were meant and the version of the profile: where either is
another by now, it is given anew.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import jsontext, parsing
from webapp.gate.judging import judge, roots_of
from webapp.parsing import Profile, Trace, why_absent
from webapp.store.db.dialect import hurried, upsert
from webapp.store.labels import settling
from webapp.store.labels.label_content import same_as
from webapp.store.labels.settling import Final
from webapp.store.models import Compared, Parse, Turn

LONGEST = 200_000
"""Code points up to which a response is parsed for the scoreboard; of a longer one only stored parses are compared."""
NO_STRATEGY = "none"
NO_CAUSE, NO_MODEL = "no cause given", "no model named"
SECONDS = 1.5
"""for one request: what is not compared by then is counted as waiting, and the next request goes on"""


class Result(NamedTuple):
    """What came of a response under a version of a profile; `policy` by which it is right, `strategy` that won."""

    version: str
    outcome: str
    policy: str | None
    strategy: str


@dataclass(frozen=True, slots=True)
class ComparedResponse:
    """`results` by profile; one that is not in it was not compared, since the response is too long."""

    turn_id: int
    model: str
    cause: str
    results: dict[str, Result]


@dataclass(slots=True)
class LabelResults:
    """`known` are the responses of which it is known what was meant, in the order of turns, without those that wait to
    be compared; how many others have no such value (`unknown`), or no final label (`disputed`)."""

    known: list[ComparedResponse] = field(default_factory=list)
    unknown: int = 0
    disputed: int = 0
    waiting: int = 0


def of_labels(db: orm.Session, *, seconds: float | None = None) -> LabelResults:
    """The results of all labelled responses. What lacks one is compared for about `seconds` (`SECONDS`) and at least
    one response, however busy the machine is, and remembered."""
    ends = time.monotonic() + (SECONDS if seconds is None else seconds)
    profiles = [profile for profile in parsing.profiles().values() if not why_absent(profile)]
    remembered = {(row.turn_id, row.meant): row.results for row in db.execute(sa.select(Compared.__table__))}
    current = _reader(profiles)
    found, new = LabelResults(), list[dict[str, Any]]()
    for turn_id, model, final in settling.finals(db):
        if final is None or final.values is None:
            found.disputed += final is None
            found.unknown += final is not None
            continue
        meant = hashlib.sha256(same_as(final.values).encode()).hexdigest()[:32]
        results = current(remembered.get((turn_id, meant), "{}"))
        lacking = [profile for profile in profiles if profile.name not in results]
        if lacking and new and time.monotonic() >= ends:
            found.waiting += 1
            continue
        if lacking and (more := _compared(db, turn_id, final.values, lacking)):
            results = results | more
            new.append({"turn_id": turn_id, "meant": meant, "results": jsontext.dumps(results)})
        found.known.append(ComparedResponse(turn_id, model or NO_MODEL, _cause(final), results))
    _remember(db, new)
    return found


def _cause(final: Final) -> str:
    return final.content.cause or NO_CAUSE


def _reader(profiles: list[Profile]) -> Callable[[str], dict[str, Result]]:
    """Gives what of remembered results holds still; most responses have the same ones, which are read once."""
    versions = {profile.name: profile.version for profile in profiles}

    @cache
    def read(results: str) -> dict[str, Result]:
        made = {name: Result(*one) for name, one in jsontext.loads(results).items()}
        return {name: result for name, result in made.items() if versions.get(name) == result.version}

    return read


def _compared(db: orm.Session, turn_id: int, meant: list[Any], profiles: list[Profile]) -> dict[str, Result]:
    """The results under these profiles, but for those under which a response is too long to be parsed for this."""
    raw = db.scalar(sa.select(Turn.raw).where(Turn.id == turn_id)) or ""
    results, read = dict[str, Result](), parsing.readings(raw)
    for profile in profiles:
        trace = read(profile) if len(raw) <= LONGEST else _stored(db, turn_id, profile)
        if trace is not None:
            judged = judge(trace.values, meant, roots_of(profile))
            strategy = trace.attempts[trace.chosen[0]].strategy if trace.chosen else NO_STRATEGY
            results[profile.name] = Result(profile.version, judged.outcome, judged.policy, strategy)
    return results


def _stored(db: orm.Session, turn_id: int, profile: Profile) -> Trace | None:
    mine = (Parse.turn_id == turn_id, Parse.profile == profile.name, Parse.version == profile.version)
    trace = db.scalar(sa.select(Parse.trace).where(*mine))
    return None if trace is None else Trace.from_dict(trace)


def _remember(db: orm.Session, new: list[dict[str, Any]]) -> None:
    """Where the database takes nothing now, the next request compares again."""
    if not new:
        return
    try:
        with hurried(db.connection()):
            for row in new:
                db.execute(upsert(Compared, row, ("turn_id",)))
        db.commit()
    except (sa.exc.OperationalError, sa.exc.IntegrityError):
        db.rollback()
