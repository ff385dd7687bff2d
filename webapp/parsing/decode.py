"""Decoding: the standard `json` decoder to one depth of nesting; its every failure is a value, never an exception."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NoReturn

from webapp.jsontext import depth, on_any_python
from webapp.parsing.edit import place

DEEPEST = 900
"""So deep nesting every caller can read: the decoder takes from Python's stack what its callers have left."""
COUNTED = 100_000
"""So deep nesting is counted."""
BRACKETS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+("?+)|[{}\[\]]', re.DOTALL)
"""Each bracket; and each string as a whole, so that what it holds is none, with the quote that closes it."""
CLOSERS = {"{": "}", "[": "]"}


def nesting(text: str) -> tuple[int, int]:
    """How deep brackets stand in each other, as far as is counted, and where the innermost one of them stands."""
    depth = deepest = innermost = 0
    for match in BRACKETS.finditer(text):
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
    if text.startswith("\ufeff"):
        return Decoded(None, _failure("Unexpected UTF-8 BOM (decode using utf-8-sig)", text, 0))
    at = _SPACE.match(text).end()  # type: ignore[union-attr]  # always matches
    try:
        value, end = scan(text, at, _SCANNERS[strict or finite, finite])
    except json.JSONDecodeError as error:
        return Decoded(failure=Failure("JSONDecodeError", error.msg, error.pos, str(error)))
    except StopIteration as stop:
        return Decoded(None, _failure("Expecting value", text, int(stop.value)))
    except NotFinite:
        at = next((match.start(1) for match in _CONSTANT.finditer(text) if match[1]), 0)
        return Decoded(failure=_failure("Expecting value", text, at))
    except RecursionError as problem:
        deepest, at = nesting(text)
        message = f"Nested {'more than ' if deepest >= COUNTED else ''}{deepest:,} deep, deeper than the decoder reads"
        return Decoded(failure=Failure("RecursionError", message, at, str(problem)))
    except ValueError as problem:
        return Decoded(failure=Failure(type(problem).__name__, str(problem), 0, str(problem)))
    if end < len(text) and (end := _SPACE.match(text, end).end()) < len(text):  # type: ignore[union-attr]
        return Decoded(None, _failure("Extra data", text, end))
    return Decoded(value)


def _failure(message: str, text: str, at: int) -> Failure:
    """What `json.JSONDecodeError(message, text, at)` says."""
    line, column = place(text, at)
    return Failure("JSONDecodeError", message, at, f"{message}: line {line} column {column} (char {at})")


def scan(text: str, at: int, scanner: Scanner | None = None) -> tuple[Any, int]:
    """The value that begins at `at`, and its end. Raises as the decoder does, `StopIteration` where none begins.

    What is nested deeper than `DEEPEST` is a `RecursionError` for every caller: one high up in the stack, where the
    decoder reads less, gets a thread, whose stack is empty.
    """
    scan_once = scanner or _finite_scanner
    try:
        value, end = scan_once(text, at)
    except json.JSONDecodeError as error:
        raise on_any_python(error) from None
    except RecursionError as deep:
        with ThreadPoolExecutor(1) as thread:
            try:
                decoding = thread.submit(scan_once, text, at)
            except RuntimeError:  # no more threads can be had
                raise deep from None
            value, end = decoding.result()
    if end - at > DEEPEST and _may_be_deep(text[at:end]) and depth(value) > DEEPEST:
        raise RecursionError("maximum recursion depth exceeded while decoding")
    return value, end


def _may_be_deep(text: str) -> bool:
    """Whether a value may be nested too deep: too many of its brackets are left where empty pairs go, four times.

    Of the strings an odd number of quotes stays between a bracket inside and one outside, which so are never a pair.
    """
    marks = text.replace("\\\\", "").replace('\\"', "").encode("utf-8", "surrogatepass").translate(None, _NO_MARKS)
    for pair in (b'""', b"{}", b"[]", b"{}", b"[]"):
        marks = marks.replace(pair, b"")
    return len(marks) > DEEPEST - 4


def read(text: str, at: int) -> tuple[int, Any, int]:
    """The JSON value that begins at `at`: `(end or -1, value, cost in code points)`. NaN is not read.

    A failed attempt costs its offset in the whole text, since the decoder counts the lines before it.
    """
    try:
        value, end = scan(text, at)
    except json.JSONDecodeError as error:
        return -1, None, error.pos
    except StopIteration as stop:
        return -1, None, max(int(stop.value) - at, 1)
    except NotFinite:
        return -1, None, min(1000, len(text) - at)
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


_NO_MARKS = bytes(byte for byte in range(256) if byte not in b'{}[]"')
_SPACE = re.compile(r"[ \t\n\r]*+")
_CONSTANT = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|(NaN|-?Infinity)', re.DOTALL)
Scanner = Callable[[str, int], tuple[Any, int]]
_finite_scanner: Scanner = json.JSONDecoder(parse_constant=_refuse).scan_once  # type: ignore[attr-defined]  # typeshed lacks it
_SCANNERS: dict[tuple[bool, bool], Scanner] = {
    (True, True): _finite_scanner,
    (True, False): json.JSONDecoder().scan_once,  # type: ignore[attr-defined]
    (False, False): json.JSONDecoder(strict=False).scan_once,  # type: ignore[attr-defined]
}
"""By whether control characters are refused, and whether NaN is."""
