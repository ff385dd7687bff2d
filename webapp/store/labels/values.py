"""Expected values: read from text that a person typed, and compared as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from webapp import jsontext
from webapp.jsontext import same_as as same_as

EXPECTS = ("one", "several", "none", "unknown")
"""one value, several in order, none (no JSON is meant), unknown (cut off: cannot be known)"""

_SPACE = re.compile(r"\s+")
_decoder = json.JSONDecoder()


class BadValue(ValueError):
    """A text holds no JSON at `at` (code points from 0); `line` and `column` count from 1."""

    def __init__(self, message: str, text: str, at: int) -> None:
        super().__init__(message)
        self.message = message
        self.at = at
        self.line = text.count("\n", 0, at) + 1
        self.column = at - text.rfind("\n", 0, at)


def read(text: str) -> list[Any]:
    """The JSON values in `text`, in order, with white space between them; raises `BadValue`."""
    values, at = [], 0
    while at < len(text):
        if space := _SPACE.match(text, at):
            at = space.end()
            continue
        try:
            value, at = _decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise BadValue(error.msg, text, error.pos) from None
        except (RecursionError, ValueError):
            raise BadValue("nested too deeply, or a number too long to read", text, at) from None
        values.append(value)
    return values


def written(values: Sequence[Any]) -> str:
    """The text that `read` takes back."""
    return "\n".join(jsontext.pretty(value) for value in values)
