"""Agreement: how far people who labelled the same responses say the same of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import combinations, groupby

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.labels.settling import position
from webapp.store.models import Label


@dataclass(frozen=True, slots=True)
class Pair:
    """Two people: how many responses both labelled, and of those how many alike by judgement, expectation and cause."""

    first: str
    second: str
    both: int
    judgement: int
    expected: int
    cause: int


@dataclass(frozen=True, slots=True)
class Agreement:
    """`units` responses have labels of two people or more. The alphas are Krippendorff's, for nominal data: 1 is
    perfect, 0 is chance; None where there is nothing to compare, or all said the one same thing. The intervals (95 %)
    are a bootstrap's over responses. `missing` says that the library which works them out is not installed."""

    units: int
    pairs: list[Pair]
    judgement: float | None
    cause: float | None
    missing: bool
    judgement_interval: tuple[float, float] | None = None
    cause_interval: tuple[float, float] | None = None


def measured(db: orm.Session) -> Agreement:
    units = _units(db)
    missing = find_spec("krippendorff") is None
    if missing:
        return Agreement(len(units), _pairs(units), None, None, missing)
    judgements = [[label.judgement for label in unit] for unit in units]
    causes = [[label.cause for label in unit if label.cause] for unit in units]
    return Agreement(
        len(units), _pairs(units), alpha(judgements), alpha(causes), missing, interval(judgements), interval(causes)
    )


def alpha(units: Sequence[Sequence[str]]) -> float | None:
    """Krippendorff's alpha of what was said of each unit; None where it is not defined."""
    import krippendorff  # here, since numpy alone is as large as the rest and most people label alone

    table = _table(units)
    if not table or len(table[0]) < 2:
        return None
    return float(krippendorff.alpha(value_counts=table, level_of_measurement="nominal"))


def interval(units: Sequence[Sequence[str]], draws: int = 1_000) -> tuple[float, float] | None:
    """Between which alpha lies in 95 % of `draws` bootstraps over units; None where it is not defined.

    A draw weights each unit by how often it was drawn: of nominal data alpha is a ratio of two sums over units, so that
    nothing is copied. Draws of units that all say the one same thing have no alpha and are left out.
    """
    import numpy as np

    table = np.array(_table(units), dtype=float)
    if table.ndim < 2 or min(table.shape) < 2:
        return None
    sizes = table.sum(axis=1)
    differing = (sizes**2 - (table**2).sum(axis=1)) / (sizes - 1)
    chance, alphas = np.random.default_rng(0), []
    for _ in range(draws):
        weights = chance.multinomial(len(table), np.full(len(table), 1 / len(table)))
        totals = weights @ table
        of = totals.sum()
        if expected := (of**2 - (totals**2).sum()) / (of - 1):
            alphas.append(1 - (weights @ differing) / expected)
    low, high = np.quantile(alphas, (0.025, 0.975)) if alphas else (-1.0, 1.0)
    return float(low), float(high)


def _table(units: Sequence[Sequence[str]]) -> list[list[int]]:
    """Of each unit of which two people or more said something, how many said each value."""
    pairable = [Counter(unit) for unit in units if len(unit) > 1]
    domain = sorted({value for counts in pairable for value in counts})
    return [[counts[value] for value in domain] for counts in pairable]


def _units(db: orm.Session) -> list[list[Label]]:
    several = sa.select(Label.turn_id).group_by(Label.turn_id).having(sa.func.count() > 1)
    query = sa.select(Label).where(Label.turn_id.in_(several)).order_by(Label.turn_id, Label.author)
    return [list(unit) for _, unit in groupby(db.scalars(query), key=lambda label: label.turn_id)]


def _pairs(units: Iterable[Sequence[Label]]) -> list[Pair]:
    counts: dict[tuple[str, str], Counter[str]] = {}
    for unit in units:
        for first, second in combinations(unit, 2):
            pair_counts = counts.setdefault((first.author, second.author), Counter())
            pair_counts["both"] += 1
            pair_counts["judgement"] += first.judgement == second.judgement
            pair_counts["expected"] += position(first)[1] == position(second)[1]
            pair_counts["cause"] += first.cause == second.cause
    names = ("both", "judgement", "expected", "cause")
    return [Pair(*authors, *(pair_counts[name] for name in names)) for authors, pair_counts in sorted(counts.items())]
