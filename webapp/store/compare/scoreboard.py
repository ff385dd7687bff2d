"""The scoreboard: every profile over the responses whose final label says what was meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import orm

from webapp import parsing
from webapp.gate.judging import Judged
from webapp.parsing import why_absent
from webapp.store.compare import profile_results as compared
from webapp.store.compare.profile_results import Result, Results
from webapp.store.failures.group_line import Rate, rate
from webapp.store.labels import settling

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
        _, outcome, policy, _ = result
        self.outcomes[outcome] += count
        if policy:
            self.policies[policy] += count


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
    result = Scoreboard(scores={name: Score() for name in names}, by={dimension: {} for dimension in DIMENSIONS})
    result.waiting = compared.refresh(db, seconds=seconds)
    counts: Counter[str] = Counter()
    for state, model, cause, results, count in compared.groups(db):
        counts[state] += count
        if state == "known":
            _add(result, names, model, cause, results, count)
    result.compared, result.unknown, result.disputed = counts["known"], counts["unknown"], counts["disputed"]
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
    compared.refresh(db)
    by_turn: ByTurn = {}
    for turn_id, model, cause, results in compared.known(db, after):
        result = results.get(name)
        if result is None or (outcomes and result[1] not in outcomes):
            continue
        dimensions = _dimensions(model, cause, result)
        if dimension is None or dimensions[dimension[0]] == dimension[1]:
            by_turn[turn_id] = result, dimensions
        if len(by_turn) == limit:
            break
    return _lines(db, by_turn)


def change(db: orm.Session, before: str, after: str, *, limit: int = 50) -> dict[str, Any]:
    """What going from one profile to another does to the labelled responses: what it fixes and what it breaks, as
    numbers and as the first of them; `differently_wrong` counts those that are wrong both ways, `compared` all."""
    parsing.profile(before), parsing.profile(after)
    compared.refresh(db)
    counts: Counter[str] = Counter()
    by_turn: dict[str, ByTurn] = {"fixed": {}, "broken": {}}
    for turn_id, model, cause, results in compared.known(db):
        if before not in results or after not in results:
            continue
        became = _became(results, before, after)
        counts[became] += 1
        if became in by_turn and len(by_turn[became]) < limit:
            by_turn[became][turn_id] = results[after], _dimensions(model, cause, results[after])
    return {
        "compared": counts.total(),
        "same": counts["same"],
        "fixes": counts["fixed"],
        "breaks": counts["broken"],
        "differently_wrong": counts["other"],
        "fixed": _lines(db, by_turn["fixed"]),
        "broken": _lines(db, by_turn["broken"]),
    }


def _became(results: Results, before: str, after: str) -> str:
    was, now = results[before][1], results[after][1]
    good = [outcome in ("right", "nothing") for outcome in (was, now)]
    if was == now or all(good):
        return "same"
    return "fixed" if good[1] else "broken" if good[0] else "other"


def _lines(db: orm.Session, by_turn: ByTurn) -> list[Line]:
    lines = []
    for response in settling.of_turns(db, list(by_turn)):
        (_, outcome, policy, _), dimensions = by_turn[response.turn.id]
        lines.append(Line(response, Judged(outcome, policy), dimensions))
    return lines


def _add(board_so_far: Scoreboard, names: Iterable[str], model: str, cause: str, results: Results, count: int) -> None:
    for name in names:
        if (result := results.get(name)) is None:
            if not why_absent(parsing.profile(name)):
                board_so_far.too_long += count
            continue
        board_so_far.scores[name].add(result, count)
        for dimension, value in _dimensions(model, cause, result).items():
            board_so_far.by[dimension].setdefault(value, {}).setdefault(name, Score()).add(result, count)


def _dimensions(model: str, cause: str, result: Result) -> dict[str, str]:
    return {"model": model, "cause": cause, "strategy": result[3]}
