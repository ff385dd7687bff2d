"""Waiting for what another process or thread does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")


def until(is_so: Callable[[], Answer], said: str | Callable[[], object] = "it", seconds: float = 120.0) -> Answer:
    """The first answer of `is_so` that is true; fails after so many seconds, and says what it waited for."""
    end = time.monotonic() + seconds
    while not (answer := is_so()):
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds} s for {said if isinstance(said, str) else said()}")
        time.sleep(0.01)
    return answer
