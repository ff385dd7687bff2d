"""Decoding: the standard `json` decoder, whose every failure is a value here and never an exception."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a text did not decode. `at` is a code point offset in that text; `said` is the exception's own wording."""

    type: str
    message: str
    at: int
    said: str


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decoded value, or the failure where `failure` is not None."""

    value: Any = None
    failure: Failure | None = None


def decode(text: str, *, strict: bool = True) -> Decoded:
    """`json.loads(text, strict=strict)` as data. Never raises on any `str`.

    The decoder's own RecursionError (deep nesting) and ValueError (an integer of more digits than
    `sys.get_int_max_str_digits()`) become failures like every other.
    """
    try:
        return Decoded(json.loads(text, strict=strict))
    except json.JSONDecodeError as error:
        return Decoded(failure=Failure("JSONDecodeError", error.msg, error.pos, str(error)))
    except (RecursionError, ValueError) as error:
        return Decoded(failure=Failure(type(error).__name__, str(error), 0, str(error)))
