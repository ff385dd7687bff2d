"""Shares and signs where failures repeat within a session: sessions are the independent trials, not responses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from math import erfc, exp, log, sqrt

from webapp.store.failures.group_line import Rate, Z, wilson

_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""Student's t for 95 %, by degrees of freedom from 1"""
Cluster = tuple[int, int]
"""of one session, how many calls or responses count, of how many"""
_EXACT = 400
"""sessions and differences up to which all signs are counted: 0.1 s at most"""


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

    def as_dict(self) -> dict[str, object]:
        counts = {"first": self.first, "second": self.second, "sessions": self.sessions}
        return {**counts, "p": self.p, "share": self.share.share, "interval": self.share.interval}


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
