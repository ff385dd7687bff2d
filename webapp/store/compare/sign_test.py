"""The exact sign test on pairs that differ: shown beside counts, never deciding anything."""

from __future__ import annotations

import math
from dataclasses import dataclass

from webapp.store.scores.scoreboard import HitRate


@dataclass(frozen=True, slots=True)
class SignTest:
    """Of the pairs that differ, `first` favour one side and `second` the other. `p` is the two-sided probability of a
    split as uneven or more where both were as good, None where no pair differs."""

    first: int
    second: int

    @property
    def p(self) -> float | None:
        of = self.first + self.second
        return two_sided(min(self.first, self.second), of) if of else None

    @property
    def share(self) -> HitRate:
        """The share of the first side among the pairs that differ, with its 95 % interval."""
        return HitRate(self.first, self.first + self.second)

    def as_dict(self) -> dict[str, object]:
        rate = self.share
        return {"first": self.first, "second": self.second, "p": self.p, "share": rate.share, "interval": rate.interval}


def two_sided(fewer: int, of: int) -> float:
    """Twice the probability of at most `fewer` heads in `of` tosses of a fair coin, at most 1.

    The terms are summed from the greatest down, and ended where they no longer change the sum.
    """
    if 2 * fewer >= of:
        return 1.0
    ratio_sum, term = 1.0, 1.0
    for heads in range(fewer, 0, -1):
        term *= heads / (of - heads + 1)
        ratio_sum += term
        if term < 1e-17 * ratio_sum:
            break
    greatest = math.lgamma(of + 1) - math.lgamma(fewer + 1) - math.lgamma(of - fewer + 1) - of * math.log(2)
    return min(1.0, 2 * math.exp(greatest + math.log(ratio_sum)))
