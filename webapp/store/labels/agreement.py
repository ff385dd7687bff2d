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
    perfect, 0 is chance; None where there is nothing to compare, or all said the one same thing. `missing` says
    that the library which works them out is not installed."""

    units: int
    pairs: list[Pair]
    judgement: float | None
    cause: float | None
    missing: bool


def measured(db: orm.Session) -> Agreement:
    units = _units(db)
    missing = find_spec("krippendorff") is None
    judgement = None if missing else alpha([[label.judgement for label in unit] for unit in units])
    cause = None if missing else alpha([[label.cause for label in unit if label.cause] for unit in units])
    return Agreement(len(units), _pairs(units), judgement, cause, missing)


def alpha(units: Sequence[Sequence[str]]) -> float | None:
    """Krippendorff's alpha of what was said of each unit; None where it is not defined."""
    import krippendorff  # here, since numpy alone is as large as the rest and most people label alone

    pairable = [Counter(unit) for unit in units if len(unit) > 1]
    domain = sorted({value for counts in pairable for value in counts})
    if len(domain) < 2:
        return None
    table = [[counts[value] for value in domain] for counts in pairable]
    return float(krippendorff.alpha(value_counts=table, level_of_measurement="nominal"))


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
