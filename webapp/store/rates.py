"""Shares with an interval: of independent responses, of responses that fail together in a session; signs; agreement."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from math import erfc, exp, log, sqrt

Z = 1.959963984540054
"""of 95 %"""
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""Student's t for 95 %, by degrees of freedom from 1"""
Cluster = tuple[int, int]
"""of one session, how many calls or responses count, of how many"""
_EXACT = 400
"""sessions and differences up to which all signs are counted: 0.1 s at most"""


@dataclass(frozen=True, slots=True)
class Rate:
    """`count` of `of`, and between which shares the true rate lies with 95 %: Wilson's score interval (1927), or one
    over sessions, where failures repeat within one.

    `of`, `low` and `high` are None where it is not known of how many.
    """

    name: str
    count: int
    of: int | None
    low: float | None
    high: float | None

    @property
    def interval(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def share(self) -> float | None:
        return self.count / self.of if self.of else None


def rate(name: str, count: int, of: int | None) -> Rate:
    """The rate of `count` among `of`."""
    if not of:
        return Rate(name, count, of, None, None)
    low, high = wilson(min(count, of), of)
    return Rate(name, count, of, low, high)


def wilson(count: int, of: int) -> tuple[float, float]:
    """Wilson's score interval of a share, both ends within 0 and 1."""
    share, square = count / of, Z * Z
    middle = (share + square / (2 * of)) / (1 + square / of)
    half = Z * sqrt(share * (1 - share) / of + square / (4 * of * of)) / (1 + square / of)
    return (max(0.0, middle - half) if count else 0.0), (min(1.0, middle + half) if count < of else 1.0)


@dataclass(frozen=True, slots=True)
class SignTest:
    """Of the responses that differ, `first` favour one side and `second` the other, in `sessions` sessions. `p` is
    two-sided: how probable a difference as large or larger is, were it as probable the other way round in each session;
    None where nothing differs."""

    first: int
    second: int
    sessions: int
    p: float | None
    share: Rate


def sign_test(by_session: Iterable[Cluster]) -> SignTest:
    """The test of the numbers of responses, (for the first side, for the second) of each session."""
    pairs = [(first, second) for first, second in by_session if first or second]
    first, second = sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
    p = flipped([here - after for here, after in pairs]) if pairs else None
    return SignTest(first, second, len(pairs), p, share((here, here + after) for here, after in pairs))


def flipped(differences: list[int]) -> float:
    """How probable a sum as far from 0 is where the sign of each difference is a coin's: all signs are counted; of many
    sessions or large differences the normal distribution that they come close to is taken, with continuity."""
    total, sizes = abs(sum(differences)), [abs(size) for size in differences if size]
    if not sizes:
        return 1.0
    if len(sizes) > _EXACT or sum(sizes) > 10 * _EXACT:
        return erfc(max(0.0, total - 1) / sqrt(2 * sum(size * size for size in sizes)))
    odds = {0: 1.0}
    for size in sizes:
        following: dict[int, float] = defaultdict(float)
        for at, odd in odds.items():
            following[at + size] += odd / 2
            following[at - size] += odd / 2
        odds = following
    return min(1.0, sum(odd for at, odd in odds.items() if abs(at) >= total))


def share(clusters: Iterable[Cluster]) -> Rate:
    """A share with its interval over sessions, if two or more say so: responses of one are no independent trials.

    The variance is the jackknife's, which leaves out a session at a time; on the scale of the logit, with Student's t,
    so that the interval stays within 0 and 1. Where it leaves none, as where all count, it is Wilson's
    interval of as many trials as there are sessions.
    """
    pairs = [pair for pair in clusters if pair[1]]
    count, of, sessions = sum(k for k, _ in pairs), sum(n for _, n in pairs), len(pairs)
    if sessions < 2:
        return Rate("", count, of, None, None)
    rate = count / of
    variance = (sessions - 1) / sessions * sum(((count - k) / (of - n) - rate) ** 2 for k, n in pairs)
    if variance == 0 or rate in (0, 1):
        low, high = wilson(round(rate * sessions), sessions)
        return Rate("", count, of, min(low, rate), max(high, rate))
    half = _student(sessions - 1) * sqrt(variance) / (rate * (1 - rate))
    middle = log(rate / (1 - rate))
    return Rate("", count, of, _logistic(middle - half), _logistic(middle + half))


def _logistic(value: float) -> float:
    return 1 / (1 + exp(-value)) if value > -700 else 0.0


def _student(freedom: int) -> float:
    """Student's t for 95 %, by Cornish and Fisher's expansion where the table ends."""
    if freedom <= len(_T):
        return _T[freedom - 1]
    return Z + (Z**3 + Z) / (4 * freedom) + (5 * Z**5 + 16 * Z**3 + 3 * Z) / (96 * freedom**2)


def alpha(units: Iterable[Iterable[str]]) -> tuple[float, float, float] | None:
    """Krippendorff's alpha for nominal data, of what people said of each unit, and between which it lies with 95 %, by
    the jackknife over units as in `share`: 1 is perfect, 0 is chance. Units that all say the same without one of them
    are perfect then. None where two or more said nothing of two units or more, or all said the one same thing."""
    kinds = Counter(said for unit in units if len(said := tuple(sorted(unit))) > 1)
    totals, every = Counter[str](), kinds.total()
    for said, times in kinds.items():
        totals.update({value: times * count for value, count in Counter(said).items()})
    apart = {said: _apart(Counter(said)) / (len(said) - 1) for said in kinds}
    all_apart = sum(times * apart[said] for said, times in kinds.items())
    if (whole := _alpha(all_apart, totals)) is None or every < 2:
        return None
    less = ((_alpha(all_apart - apart[said], totals - Counter(said)), times) for said, times in kinds.items())
    variance = (every - 1) / every * sum(times * ((1.0 if one is None else one) - whole) ** 2 for one, times in less)
    half = _student(every - 1) * sqrt(variance)
    return whole, max(-1.0, whole - half), min(1.0, whole + half)


def _alpha(apart: float, totals: Counter[str]) -> float | None:
    expected = _apart(totals) / (totals.total() - 1) if totals.total() > 1 else 0
    return 1 - apart / expected if expected else None


def _apart(counts: Counter[str]) -> int:
    """How many pairs, counted both ways, say different things."""
    return counts.total() ** 2 - sum(count * count for count in counts.values())
