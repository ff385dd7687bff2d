"""The scoreboard: every profile over the responses whose final label says what was meant."""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import parsing
from webapp.parsing import Profile, Trace
from webapp.store.judging import OUTCOMES, Judged, judge
from webapp.store.labelling import settling
from webapp.store.labelling.settling import Labelled
from webapp.store.labelling.values import same_as
from webapp.store.models import Parse

DIMENSIONS = ("model", "cause", "strategy")
LONGEST = 200_000
"""Code points up to which a response is parsed for the scoreboard; of a longer one only stored parses are compared."""
SECONDS = 3.0
"""for one request: what is not compared by then is counted as waiting, and the next request goes on"""
MOST_KEPT = 200_000
NO_STRATEGY = "none"
_Z = statistics.NormalDist().inv_cdf(0.975)


@dataclass(frozen=True, slots=True)
class Rate:
    """A share with its 95 % interval after Wilson (1927); None where nothing was counted."""

    hits: int
    of: int

    @property
    def share(self) -> float | None:
        return self.hits / self.of if self.of else None

    @property
    def interval(self) -> tuple[float, float] | None:
        if not self.of:
            return None
        share, n = self.hits / self.of, self.of
        middle = share + _Z * _Z / (2 * n)
        spread = _Z * math.sqrt(share * (1 - share) / n + _Z * _Z / (4 * n * n))
        scale = 1 + _Z * _Z / n
        return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


@dataclass(slots=True)
class Score:
    """What one profile made of some labelled responses; `policies` counts those right by a policy of its own."""

    outcomes: Counter[str] = field(default_factory=Counter)
    policies: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return self.outcomes.total()

    @property
    def precision(self) -> Rate:
        """Right among the responses from which a value was read."""
        read = self.outcomes["right"] + self.outcomes["wrong"] + self.outcomes["spurious"]
        return Rate(self.outcomes["right"], read)

    @property
    def recall(self) -> Rate:
        """Right among the responses in which JSON was meant."""
        meant = self.outcomes["right"] + self.outcomes["wrong"] + self.outcomes["missed"]
        return Rate(self.outcomes["right"], meant)

    def add(self, judged: Judged) -> None:
        self.outcomes[judged.outcome] += 1
        if judged.policy:
            self.policies[judged.policy] += 1


@dataclass(frozen=True, slots=True)
class Line:
    """One response under one profile; `dimensions` are its model, its label's cause, the strategy that won."""

    labelled: Labelled
    judged: Judged
    dimensions: dict[str, str]


@dataclass(slots=True)
class Scoreboard:
    """Each profile's score, in all and by the values of each dimension.

    `compared` final labels say what was meant; `unknown` ones do not (nothing said, or cut off), `disputed` responses
    have no final label, `waiting` were not compared yet, `too_long` counts comparisons left out for their length.
    """

    scores: dict[str, Score] = field(default_factory=dict)
    by: dict[str, dict[str, dict[str, Score]]] = field(default_factory=dict)
    compared: int = 0
    unknown: int = 0
    disputed: int = 0
    waiting: int = 0
    too_long: int = 0


def board(db: orm.Session, names: tuple[str, ...] | None = None, *, seconds: float = SECONDS) -> Scoreboard:
    """The scores of `names`, else of every profile, over all final labels that say what was meant."""
    profiles = [parsing.profile(name) for name in names or parsing.profiles()]
    done = Scoreboard(
        scores={profile.name: Score() for profile in profiles}, by={dimension: {} for dimension in DIMENSIONS}
    )
    ends = time.monotonic() + seconds
    for labelled in settling.every(db):
        if labelled.final is None:
            done.disputed += 1
        elif labelled.final.values is None:
            done.unknown += 1
        elif time.monotonic() > ends:
            done.waiting += 1
        else:
            done.compared += 1
            _add(db, done, labelled, profiles)
    return done


def lines(
    db: orm.Session,
    name: str,
    *,
    outcome: str | None = None,
    dimension: tuple[str, str] | None = None,
    after: int = -1,
    limit: int = 50,
) -> list[Line]:
    """The responses behind a cell, in the order of turns behind the turn `after`; raises `UnknownProfile`."""
    profile = parsing.profile(name)
    found: list[Line] = []
    for line in _lines(db, profile, after):
        fits = outcome is None or line.judged.outcome == outcome
        if fits and (dimension is None or line.dimensions[dimension[0]] == dimension[1]):
            found.append(line)
        if len(found) == limit:
            break
    return found


@dataclass(frozen=True, slots=True)
class Change:
    """What going from one profile to another does to the labelled responses: what it fixes and what it breaks."""

    same: int
    fixed: list[Line]
    broken: list[Line]
    other: int


def change(db: orm.Session, before: str, after: str) -> Change:
    """Compare two profiles, response by response; `other` counts those that are wrong both ways but differently."""
    old, new = parsing.profile(before), parsing.profile(after)
    same = other = 0
    fixed: list[Line] = []
    broken: list[Line] = []
    for labelled in _known(db, -1):
        was, now = _judged(db, labelled, old), _judged(db, labelled, new)
        if was is None or now is None:
            continue
        good = [judged.outcome in ("right", "nothing") for judged, _ in (was, now)]
        if was[0].outcome == now[0].outcome or all(good):
            same += 1
        elif any(good):
            line = Line(labelled, now[0], _dimensions(labelled, now[1]))
            (fixed if good[1] else broken).append(line)
        else:
            other += 1
    return Change(same, fixed, broken, other)


def _known(db: orm.Session, after: int) -> Iterator[Labelled]:
    """The labelled responses of which a final label says what was meant."""
    for labelled in settling.finals(db, after=after):
        if labelled.final is not None and labelled.final.values is not None:
            yield labelled


def _lines(db: orm.Session, profile: Profile, after: int) -> Iterator[Line]:
    for labelled in _known(db, after):
        judged = _judged(db, labelled, profile)
        if judged is not None:
            yield Line(labelled, judged[0], _dimensions(labelled, judged[1]))


def _add(db: orm.Session, done: Scoreboard, labelled: Labelled, profiles: list[Profile]) -> None:
    for profile in profiles:
        judged = _judged(db, labelled, profile)
        if judged is None:
            done.too_long += 1
            continue
        done.scores[profile.name].add(judged[0])
        for dimension, value in _dimensions(labelled, judged[1]).items():
            cell = done.by[dimension].setdefault(value, {}).setdefault(profile.name, Score())
            cell.add(judged[0])


def _dimensions(labelled: Labelled, strategy: str) -> dict[str, str]:
    assert labelled.final is not None
    cause = labelled.final.said.cause or "no cause given"
    return {"model": labelled.turn.model or "no model named", "cause": cause, "strategy": strategy}


_kept: OrderedDict[tuple[bytes, str, str, str], tuple[Judged, str]] = OrderedDict()
"""(sha256 of the text, profile, its version, what was meant) → what came of it: none of these ever changes"""


def _judged(db: orm.Session, labelled: Labelled, profile: Profile) -> tuple[Judged, str] | None:
    """What became of a response, and the strategy that won; None where it is too long to be parsed for this."""
    assert labelled.final is not None and labelled.final.values is not None
    meant = labelled.final.values
    key = (labelled.turn.raw_sha256 or b"", profile.name, profile.version, same_as(meant))
    if (known := _kept.get(key)) is not None:
        return known
    trace = _trace(db, labelled, profile)
    if trace is None:
        return None
    strategy = trace.attempts[trace.chosen[0]].strategy if trace.chosen else NO_STRATEGY
    found = judge(trace, meant, roots_of(profile)), strategy
    _kept[key] = found
    if len(_kept) > MOST_KEPT:
        _kept.popitem(last=False)
    return found


def _trace(db: orm.Session, labelled: Labelled, profile: Profile) -> Trace | None:
    raw = labelled.turn.raw or ""
    if len(raw) <= LONGEST:
        return parsing.parse(raw, profile)
    query = sa.select(Parse).where(Parse.turn_id == labelled.turn.id, Parse.profile == profile.name)
    stored = db.scalar(query)
    return Trace.from_dict(stored.trace) if stored and stored.version == profile.version else None


@lru_cache(maxsize=64)
def _roots(name: str) -> str:
    profile = parsing.profile(name)
    policies = getattr(profile, "policies", None)
    return str(getattr(profile, "roots", None) or getattr(policies, "roots", "all"))


def roots_of(profile: Profile) -> str:
    """Which of several values a profile gives: its attribute `roots`, or its policy of that name, else all."""
    return _roots(profile.name)


__all__ = ["DIMENSIONS", "OUTCOMES", "Change", "Line", "Rate", "Score", "Scoreboard", "board", "change", "lines"]
