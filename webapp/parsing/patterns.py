"""Patterns that are compiled when first used: most responses need few of them, and compiling all takes long."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

_spent = 0
_METHODS = ("match", "fullmatch", "search", "finditer", "findall", "sub", "split")


class _Later:
    """Looks like a compiled pattern; the first method asked for compiles it and puts all of them in place."""

    __slots__ = ("_flags", "_source", *_METHODS)

    def __init__(self, source: str, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS:
            raise AttributeError(name)
        with preparing():
            compiled = re.compile(self._source, self._flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def later(source: str, flags: int = 0) -> re.Pattern[str]:
    """`re.compile(source, flags)`, done at the first match. A bad pattern raises `re.error` only then."""
    return cast("re.Pattern[str]", _Later(source, flags))


def up_to(characters: str, *patterns: str) -> str:
    """A pattern of all before the next of the characters or patterns, each of which begins with a plain character."""
    first = "".join(sorted({pattern[0] for pattern in patterns}))
    passed = f"|(?!{'|'.join(patterns)})[{first}]" if patterns else ""
    return rf"(?:[^{re.escape(characters + first)}]++{passed})*+"


def holds(text: str, start: int, end: int, characters: str) -> bool:
    """Whether one of the characters stands in `text[start:end]`: a pattern takes some times as long to tell."""
    return any(text.find(char, start, end) >= 0 for char in characters)


@contextmanager
def preparing() -> Iterator[None]:
    """What is done inside is done once a process, and does not count as time that a parse takes."""
    global _spent
    before, started = _spent, time.perf_counter_ns()
    yield
    _spent = before + time.perf_counter_ns() - started  # with what was prepared inside


def spent() -> int:
    """Nanoseconds that `preparing` has taken in this process."""
    return _spent
