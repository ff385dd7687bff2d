"""Rates with an interval: a count alone says nothing."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

_Z = 1.959963984540054
"""of 95 %"""


@dataclass(frozen=True, slots=True)
class Rate:
    """`count` of `of`, and between which shares the true rate lies with 95 % (Wilson's score interval, 1927).

    `of`, `low` and `high` are None where it is not known of how many.
    """

    name: str
    count: int
    of: int | None
    low: float | None
    high: float | None

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
    share, square = count / of, _Z * _Z
    middle = (share + square / (2 * of)) / (1 + square / of)
    half = _Z * sqrt(share * (1 - share) / of + square / (4 * of * of)) / (1 + square / of)
    return (max(0.0, middle - half) if count else 0.0), (min(1.0, middle + half) if count < of else 1.0)
