"""Decodes one JSON value out of a text with the standard library's scanner, and says in words what is wrong with it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from webapp import jsontext
from webapp.dumps.budget import Allowance, TooLarge, check_json
from webapp.dumps.messages.printed import from_repr
from webapp.dumps.records import Problem

MAX_DEPTH = 400
"""What is nested deeper cannot safely be written again by the standard library from within a deep call stack."""

_SPACE = re.compile(r"[ \t\n\r]*")


class Damage(ValueError):
    """A value cannot be decoded; `at` is the character at which it went wrong."""

    def __init__(self, reason: str, at: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.at = at


class Decoder:
    """`json.loads` for one value, which also notices keys that stand twice in one object (`repeated`)."""

    def __init__(self) -> None:
        self.repeated: list[str] = []
        self._scan = json.JSONDecoder(strict=False, object_pairs_hook=self._pairs).raw_decode

    def _pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        unique = dict(pairs)
        if len(unique) != len(pairs):
            keys = [key for key, _ in pairs]
            self.repeated.extend(key for key in unique if keys.count(key) > 1)
        return unique

    def value(self, text: str, at: int) -> tuple[Any, int]:
        """The value at `at` and where it ends. Raises `Damage`."""
        self.repeated.clear()
        try:
            value, end = self._scan(text, at)
        except json.JSONDecodeError as error:
            raise Damage(error.msg[:1].lower() + error.msg[1:], error.pos) from None
        except RecursionError:
            raise Damage(f"nested deeper than {MAX_DEPTH} levels", at) from None
        except ValueError:
            raise Damage("contains a number of more than 4300 digits", at) from None
        brackets = text.count("[", at, end) + text.count("{", at, end) if end - at > MAX_DEPTH else 0
        if brackets > MAX_DEPTH and jsontext.depth(value) > MAX_DEPTH:
            raise Damage(f"nested deeper than {MAX_DEPTH} levels", at)
        return value, end

    def loads(self, text: str) -> Any:
        """One value and nothing else but space. Raises `Damage`, also for more values than one item may have."""
        try:
            check_json(text, Allowance())
        except TooLarge as large:
            raise Damage(large.reason, 0) from None
        value, end = self.value(text, skip_space(text, 0))
        if (end := skip_space(text, end)) < len(text):
            raise Damage("something follows the value", end)
        return value

    def repeats(self, at: str) -> Iterator[Problem]:
        """A problem for each key that stood twice in the value decoded last."""
        for key in dict.fromkeys(self.repeated):
            yield Problem(at, f"the key {key!r} occurs twice in one object; the last one was kept")


def json_or_none(text: str) -> Any:
    """What a JSON text inside a value says; None where it is none, or is nested too deeply."""
    try:
        return Decoder().loads(text)
    except Damage:
        return None


def kind_of(value: Any) -> str:
    """What JSON calls a value, with its article, for messages."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    names = ((dict, "an object"), (list, "a list"), (str, "a text"), (int | float, "a number"))
    return next((name for kind, name in names if isinstance(value, kind)), type(value).__name__)


def skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def opened(value: Any) -> Any:
    """The object or list that a text holds as JSON; else the value."""
    is_json = isinstance(value, str) and value.lstrip()[:1] in ("{", "[")
    return value if not is_json or (inner := json_or_none(value)) is None else inner


def opened_literal(value: Any) -> Any:
    """The list or object that a text holds, as JSON or as Python prints it; None of other texts. Others stay."""
    if not isinstance(value, str):
        return value
    if value.lstrip()[:1] not in ("{", "["):
        return None
    return from_repr(value) if (inner := json_or_none(value)) is None else inner
