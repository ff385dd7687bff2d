"""How deep brackets stand in each other: one limit for every caller, whatever of the stack that one has used up."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from itertools import islice
from typing import TypeVar

Result = TypeVar("Result")
SHORT = 1_000
"""A text that is so short is nested too deep for no caller that matters."""
FEW = 200
"""A text with so few brackets neither; of one longer than `COUNTABLE` to count them costs more than it saves."""
COUNTABLE = 8_192
DEEPEST = 900
"""So deep nesting every caller can read."""
COUNTED = 100_000
"""So deep nesting is counted."""
_FRAMES = 90
"""Decoding begins below so many frames: more than a command or a request has used, and the encoder needs some too."""
_STRETCH = 16_384
_DECODER_TAKES_FRAMES = sys.version_info < (3, 12)
_BETWEEN = r'(?:[^"{}\[\]]++|"[^"\\]*+(?:\\.[^"\\]*+)*+"?+)'
_between = re.compile(f"{_BETWEEN}++", re.DOTALL)
_bracket = re.compile(rf"{_BETWEEN}*+[{{}}\[\]]", re.DOTALL)
_runs = re.compile(r"([{\[]*+)[}\]]*+")
"""A run of opening brackets, then one of closing ones; either may be empty."""


def at_one_depth(call: Callable[[], Result], size: int) -> Result:
    """`call()`, which decodes a text of `size` characters, from one depth of the stack.

    The decoder takes from the limit of Python's stack what its callers have left, which is more in a notebook than in
    a request. From one depth its limit is the same for all. A caller below that depth gets a thread of its own.
    """
    if size <= SHORT:
        return call()
    depth, frame = 0, sys._getframe()
    while frame.f_back and depth < _FRAMES:
        depth, frame = depth + 1, frame.f_back
    if depth < _FRAMES:
        return _below(_FRAMES - depth, call)
    results: list[Result] = []
    errors: list[BaseException] = []
    thread = threading.Thread(target=lambda: _kept(call, results, errors))
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def if_not_too_deep(call: Callable[[], Result]) -> Result:
    """`call()`, which decodes, with no more of the stack left than `DEEPEST` brackets in each other take.

    What it decodes need not be counted. Raises `RecursionError` for what is deeper, and where the decoder's depth is
    not limited by the stack of Python.
    """
    frames = sys.getrecursionlimit() - DEEPEST
    if not _DECODER_TAKES_FRAMES or frames > FEW:
        raise RecursionError
    return _below(frames, call)


def is_shallow(text: str) -> bool:
    """Whether a text is nested too deep for no caller that matters, as its length or its brackets tell."""
    return len(text) <= SHORT or (len(text) <= COUNTABLE and text.count("{") + text.count("[") <= FEW)


def _below(frames: int, call: Callable[[], Result]) -> Result:
    return call() if frames <= 0 else _below(frames - 1, call)


def _kept(call: Callable[[], Result], results: list[Result], errors: list[BaseException]) -> None:
    """Run `call` in a thread: its result or its error is handed back to the caller."""
    try:
        results.append(at_one_depth(call, SHORT + 1))
    except (ValueError, RecursionError, StopIteration) as error:
        errors.append(error)


def too_deep(text: str, start: int, end: int) -> bool:
    """Whether a value that a caller high up in the stack could decode is nested deeper than others can read.

    Counting brackets in stretches tells of nearly every text that it is not, and costs next to nothing.
    """
    depth = 0
    for at in range(start, end, _STRETCH):
        stop = min(end, at + _STRETCH)
        opened = text.count("{", at, stop) + text.count("[", at, stop)
        if depth + opened > DEEPEST:
            return nesting(text[start:end])[0] > DEEPEST
        depth += opened - text.count("}", at, stop) - text.count("]", at, stop)
    return False


def nesting(text: str) -> tuple[int, int]:
    """How deep brackets stand in each other, as far as is counted, and where the innermost one of them stands."""
    depth = deepest = innermost = 0
    for match in _runs.finditer(_between.sub("", text)):
        start, end = match.span(1)
        depth += end - start
        if depth > deepest:
            deepest, innermost = depth, end - 1
            if deepest >= COUNTED:
                return COUNTED, _place(text, innermost - deepest + COUNTED)
        depth -= match.end() - end
    return deepest, _place(text, innermost) if deepest else 0


def _place(text: str, number: int) -> int:
    """Where the bracket with that number, from 0, stands in the text."""
    return next(islice(_bracket.finditer(text), number, None)).end() - 1
