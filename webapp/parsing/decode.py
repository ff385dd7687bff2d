"""Decoding: the standard `json` decoder at one depth of the stack; its every failure is a value, never an exception."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from webapp.parsing.span import place

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
_brackets = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?+|[{}\[\]]', re.DOTALL)
"""Each bracket; and each string as a whole, so that what it holds is none."""


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
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: at_one_depth(call, size)).result()


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
    for match in _brackets.finditer(text):
        char = match[0]
        depth += (char in "{[") - (char in "}]")
        if depth > deepest:
            deepest, innermost = depth, match.start()
            if deepest == COUNTED:
                break
    return deepest, innermost


@dataclass(slots=True)
class Failure:
    """Why a text did not decode. `at` is a code point offset in that text; `wording` is the exception's own wording."""

    type: str
    message: str
    at: int
    wording: str


@dataclass(slots=True)
class Decoded:
    """A decoded value, or the failure where `failure` is not None."""

    value: Any = None
    failure: Failure | None = None


class NotFinite(ValueError):
    """The text holds NaN or Infinity, which `json.loads` takes and JSON does not know."""


def decode(text: str, *, strict: bool = True, finite: bool = False) -> Decoded:
    """`json.loads(text, strict=strict)` as data. Never raises on any `str`.

    The decoder's own RecursionError (told as nesting, with its depth) and ValueError (an integer of more digits than
    `sys.get_int_max_str_digits()`) become failures like every other. With `finite`, NaN and Infinity are
    failures too, worded as the decoder words any other unexpected word (RFC 8259, section 6).
    """
    at = _SPACE.match(text).end()  # type: ignore[union-attr]  # always matches
    if text[at : at + 1] not in _BEGINS:
        return Decoded(None, _failure("Expecting value", text, at))
    marked = text.startswith("\ufeff")
    plain = finite and not marked
    try:
        if is_shallow(text) and not marked:
            return _decode_shallow(text, at, _SCANNERS[strict or plain, plain])
        return Decoded(
            at_one_depth(lambda: _finite.decode(text) if plain else json.loads(text, strict=strict), len(text))
        )
    except json.JSONDecodeError as error:
        return Decoded(failure=Failure("JSONDecodeError", error.msg, error.pos, str(error)))
    except NotFinite:
        at = next((match.start(1) for match in _CONSTANT.finditer(text) if match[1]), 0)
        return Decoded(failure=_failure("Expecting value", text, at))
    except RecursionError as problem:
        depth, at = nesting(text)
        message = f"Nested {'more than ' if depth >= COUNTED else ''}{depth:,} deep, deeper than the decoder reads"
        return Decoded(failure=Failure("RecursionError", message, at, str(problem)))
    except ValueError as problem:
        return Decoded(failure=Failure(type(problem).__name__, str(problem), 0, str(problem)))


def _decode_shallow(text: str, at: int, scan_once: Scanner) -> Decoded:
    """The value that begins at `at`, as the decoder reads it, but without its exception where text follows it."""
    try:
        value, end = scan_once(text, at)
    except StopIteration as stop:
        return Decoded(None, _failure("Expecting value", text, int(stop.value)))
    if end < len(text) and (end := _SPACE.match(text, end).end()) < len(text):  # type: ignore[union-attr]
        return Decoded(None, _failure("Extra data", text, end))
    return Decoded(value)


def _failure(message: str, text: str, at: int) -> Failure:
    """What `json.JSONDecodeError(message, text, at)` says."""
    line, column = place(text, at)
    return Failure("JSONDecodeError", message, at, f"{message}: line {line} column {column} (char {at})")


def scan(text: str, at: int, *, is_long: bool = False) -> tuple[Any, int]:
    """The value that begins at `at`, and its end. Raises as the decoder does, `StopIteration` where none begins.

    Of a value that `is_long` the brackets are counted only where it cannot be told else that it is not too deep.
    """
    if is_long:
        with suppress(RecursionError):
            return if_not_too_deep(lambda: scan_once(text, at))
    try:
        value, end = scan_once(text, at)
    except RecursionError:
        return at_one_depth(lambda: scan_once(text, at), len(text) - at)
    if end - at > SHORT and too_deep(text, at, end):
        raise RecursionError
    return value, end


def read(text: str, at: int, *, is_long: bool = False) -> tuple[int, Any, int]:
    """The JSON value that begins at `at`: `(end or -1, value, cost in code points)`. NaN is not read.

    A failed attempt costs its offset in the whole text, since the decoder counts the lines before it.
    """
    try:
        value, end = scan(text, at, is_long=is_long)
    except json.JSONDecodeError as error:
        return -1, None, error.pos
    except StopIteration as stop:
        return -1, None, max(int(stop.value) - at, 1)
    except NotFinite:
        return -1, None, 1000
    except (RecursionError, ValueError):
        return -1, None, len(text) - at
    return end, value, end - at


def first_keys(text: str) -> tuple[Any, set[str]]:
    """The value of a text that decodes, the first of two equal keys counting, and the keys that stand twice."""
    repeated: set[str] = set()

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(members)
        if len(value) < len(members):
            repeated.update(key for key, count in Counter(key for key, _ in members).items() if count > 1)
            value.update(reversed(members))
        return value

    try:
        value = json.loads(text, object_pairs_hook=pairs)
    except (RecursionError, ValueError):
        return None, set()
    return value, repeated


def _refuse(name: str) -> NoReturn:
    raise NotFinite(name)


_BEGINS = frozenset('{["-0123456789tfnNI\ufeff')
_SPACE = re.compile(r"[ \t\n\r]*+")
_CONSTANT = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|(NaN|-?Infinity)', re.DOTALL)
_finite = json.JSONDecoder(parse_constant=_refuse)
Scanner = Callable[[str, int], tuple[Any, int]]
scan_once: Scanner = _finite.scan_once  # type: ignore[attr-defined]  # typeshed lacks it
_SCANNERS: dict[tuple[bool, bool], Scanner] = {
    (True, True): scan_once,
    (True, False): json.JSONDecoder().scan_once,  # type: ignore[attr-defined]
    (False, False): json.JSONDecoder(strict=False).scan_once,  # type: ignore[attr-defined]
}
"""By whether control characters are refused, and whether NaN is."""
