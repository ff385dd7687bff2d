"""What takes too long on any machine, slow or busy: times beside that of a known piece of work, and how they grow."""

from __future__ import annotations

import time
from collections.abc import Callable

TRIES = 5
"""a busy machine may disturb one measurement; what is too slow is so in each"""
PIECE = 100_000
AS_IT_WAS = 0.0045
"""seconds that `PIECE` steps took on the machine on which limits were measured"""


def processor(work: Callable[[], object]) -> float:
    """Seconds of processor time of this thread."""
    began = time.thread_time()
    work()
    return time.thread_time() - began


def _piece() -> int:
    total = 0
    for number in range(PIECE):
        total += number % 7
    return total


def ends_within(seconds: float, work: Callable[[], object]) -> bool:
    """Of processor time on the machine on which that was measured: on a slow one, as many times more."""
    return any(as_measured(processor(work)) <= seconds for _ in range(TRIES))


def as_measured(seconds: float) -> float:
    """What took this machine so long, on that one."""
    return seconds * AS_IT_WAS / processor(_piece)


def is_linear(short: Callable[[], object], long: Callable[[], object], times: int, *, quick: float = 0.0) -> bool:
    """Whether `long`, on so many times as much, takes nearer to so many times as long than to the square of that.

    What takes less than `quick` seconds is not measured any further.
    """
    for _ in range(TRIES):
        took = processor(long)
        if took < quick or took < times**1.5 * min(processor(short) for _ in range(3)):
            return True
    return False
