"""The scoreboard: every profile over the responses whose final label says what was meant."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from sqlalchemy import orm

from webapp import parsing
from webapp.store import compared
from webapp.store.compared import Result, Results
from webapp.store.judging import OUTCOMES, Judged
from webapp.store.labelling import settling
from webapp.store.labelling.settling import Labelled

DIMENSIONS = ("model", "cause", "strategy")
SECONDS = 1.5
"""for one request: what is not compared by then is counted as waiting, and the next request goes on"""
_AT_ONCE = 1000
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

    def add(self, result: Result, count: int) -> None:
        _, outcome, policy, _ = result
        self.outcomes[outcome] += count
        if policy:
            self.policies[policy] += count


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
    names = names or tuple(parsing.profiles())
    done = Scoreboard(scores={name: Score() for name in names}, by={dimension: {} for dimension in DIMENSIONS})
    done.waiting = compared.refresh(db, seconds=seconds)
    for one in compared.stood(db):
        if one.state == "known":
            done.compared += one.count
            _add(done, one, names)
        elif one.state == "unknown":
            done.unknown += one.count
        else:
            done.disputed += one.count
    return done


def lines(
    db: orm.Session,
    name: str,
    *,
    outcomes: Collection[str] = (),
    dimension: tuple[str, str] | None = None,
    after: int = -1,
    limit: int = 50,
) -> list[Line]:
    """The responses behind a cell, those with these `outcomes` (or any), behind the turn `after` in the order of turns.

    Raises `UnknownProfile`.
    """
    parsing.profile(name)
    compared.refresh(db, seconds=SECONDS)
    found: dict[int, tuple[Result, dict[str, str]]] = {}
    while batch := compared.rows(db, after, _AT_ONCE):
        for after, model, cause, results in batch:
            result = results.get(name)
            told = _dimensions(model, cause, result) if result else {}
            fits = result is not None and (not outcomes or result[1] in outcomes)
            if result and fits and (dimension is None or told[dimension[0]] == dimension[1]):
                found[after] = result, told
            if len(found) == limit:
                return _lines(db, found)
    return _lines(db, found)


@dataclass(frozen=True, slots=True)
class Change:
    """What going from one profile to another does to the labelled responses: what it fixes and what it breaks, as
    numbers and as the first of them."""

    same: int
    fixes: int
    breaks: int
    other: int
    fixed: list[Line]
    broken: list[Line]


def change(db: orm.Session, before: str, after: str, *, limit: int = 50) -> Change:
    """Compare two profiles, response by response; `other` counts those that are wrong both ways but differently."""
    parsing.profile(before), parsing.profile(after)
    compared.refresh(db, seconds=SECONDS)
    counts: Counter[str] = Counter()
    found: dict[str, dict[int, tuple[Result, dict[str, str]]]] = {"fixed": {}, "broken": {}}
    turn = -1
    while batch := compared.rows(db, turn, _AT_ONCE):
        for turn, model, cause, results in batch:
            if before not in results or after not in results:
                continue
            became = _became(results, before, after)
            counts[became] += 1
            if became in found and len(found[became]) < limit:
                found[became][turn] = results[after], _dimensions(model, cause, results[after])
    numbers = (counts["same"], counts["fixed"], counts["broken"], counts["other"])
    return Change(*numbers, _lines(db, found["fixed"]), _lines(db, found["broken"]))


def _became(results: Results, before: str, after: str) -> str:
    was, now = results[before][1], results[after][1]
    good = [outcome in ("right", "nothing") for outcome in (was, now)]
    if was == now or all(good):
        return "same"
    return "fixed" if good[1] else "broken" if good[0] else "other"


def _lines(db: orm.Session, found: dict[int, tuple[Result, dict[str, str]]]) -> list[Line]:
    every = settling.of_turns(db, list(found))
    return [
        Line(one, Judged(found[one.turn.id][0][1], found[one.turn.id][0][2]), found[one.turn.id][1]) for one in every
    ]


def _add(done: Scoreboard, one: compared.Stood, names: Iterable[str]) -> None:
    for name in names:
        result = one.results.get(name)
        if result is None:
            done.too_long += one.count
            continue
        done.scores[name].add(result, one.count)
        for dimension, value in _dimensions(one.model, one.cause, result).items():
            done.by[dimension].setdefault(value, {}).setdefault(name, Score()).add(result, one.count)


def _dimensions(model: str, cause: str, result: Result) -> dict[str, str]:
    return {"model": model, "cause": cause, "strategy": result[3]}


__all__ = ["DIMENSIONS", "OUTCOMES", "Change", "Line", "Rate", "Score", "Scoreboard", "board", "change", "lines"]
