"""The scoreboard: every profile over the responses whose final label says what was meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import orm

from webapp import parsing
from webapp.gate.judging import Judged
from webapp.parsing import why_absent
from webapp.store.compare import profile_results
from webapp.store.compare.profile_results import Result
from webapp.store.labels import settling
from webapp.store.rates import Rate, rate

DIMENSIONS = ("model", "cause", "strategy")
ByTurn = dict[int, tuple[Result, dict[str, str]]]


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
        values_read = self.outcomes["right"] + self.outcomes["wrong"] + self.outcomes["spurious"]
        return rate("", self.outcomes["right"], values_read)

    @property
    def recall(self) -> Rate:
        """Right among the responses in which JSON was meant."""
        meant = self.outcomes["right"] + self.outcomes["wrong"] + self.outcomes["missed"]
        return rate("", self.outcomes["right"], meant)

    def add(self, result: Result, count: int) -> None:
        self.outcomes[result.outcome] += count
        if result.policy:
            self.policies[result.policy] += count


class Line(NamedTuple):
    """A response as it is judged under one profile; `dimensions` are model, cause and the strategy that won."""

    labelled: settling.Labelled
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


def board(db: orm.Session, names: tuple[str, ...] | None = None, *, seconds: float | None = None) -> Scoreboard:
    """The scores of `names`, else of every profile, over all final labels that say what was meant."""
    names = names or tuple(parsing.profiles())
    found = profile_results.of_labels(db, seconds=seconds)
    result = Scoreboard(scores={name: Score() for name in names}, by={dimension: {} for dimension in DIMENSIONS})
    result.compared, result.unknown, result.disputed = len(found.known), found.unknown, found.disputed
    result.waiting = found.waiting
    counts = Counter((one.model, one.cause, name, one.results.get(name)) for one in found.known for name in names)
    for (model, cause, name, judged), count in counts.items():
        _add(result, name, judged, count, model, cause)
    return result


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
    by_turn: ByTurn = {}
    for response in profile_results.of_labels(db).known:
        result = response.results.get(name)
        if response.turn_id <= after or result is None or (outcomes and result.outcome not in outcomes):
            continue
        dimensions = _dimensions(response.model, response.cause, result)
        if dimension is None or dimensions[dimension[0]] == dimension[1]:
            by_turn[response.turn_id] = result, dimensions
        if len(by_turn) == limit:
            break
    return _lines(db, by_turn)


def change(db: orm.Session, before: str, after: str, *, limit: int = 50) -> dict[str, Any]:
    """What going from one profile to another does to the labelled responses: what it fixes and what it breaks, as
    numbers and as the first of them; `differently_wrong` counts those that are wrong both ways, `compared` all."""
    parsing.profile(before), parsing.profile(after)
    counts: Counter[str] = Counter()
    by_turn: dict[str, ByTurn] = {"fixed": {}, "broken": {}}
    for response in profile_results.of_labels(db).known:
        was, now = response.results.get(before), response.results.get(after)
        if was is None or now is None:
            continue
        became = _became(was.outcome, now.outcome)
        counts[became] += 1
        if became in by_turn and len(by_turn[became]) < limit:
            by_turn[became][response.turn_id] = now, _dimensions(response.model, response.cause, now)
    return {
        "compared": counts.total(),
        "same": counts["same"],
        "fixes": counts["fixed"],
        "breaks": counts["broken"],
        "differently_wrong": counts["other"],
        "fixed": _lines(db, by_turn["fixed"]),
        "broken": _lines(db, by_turn["broken"]),
    }


def _became(was: str, now: str) -> str:
    good = [outcome in ("right", "nothing") for outcome in (was, now)]
    if was == now or all(good):
        return "same"
    return "fixed" if good[1] else "broken" if good[0] else "other"


def _lines(db: orm.Session, by_turn: ByTurn) -> list[Line]:
    lines = []
    for response in settling.of_turns(db, list(by_turn)):
        result, dimensions = by_turn[response.turn.id]
        lines.append(Line(response, Judged(result.outcome, result.policy), dimensions))
    return lines


def _add(board_so_far: Scoreboard, name: str, result: Result | None, count: int, model: str, cause: str) -> None:
    if result is None:
        board_so_far.too_long += 0 if why_absent(parsing.profile(name)) else count
        return
    board_so_far.scores[name].add(result, count)
    for dimension, value in _dimensions(model, cause, result).items():
        board_so_far.by[dimension].setdefault(value, {}).setdefault(name, Score()).add(result, count)


def _dimensions(model: str, cause: str, result: Result) -> dict[str, str]:
    return {"model": model, "cause": cause, "strategy": result.strategy}
