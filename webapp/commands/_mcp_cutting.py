"""Cuts what is long out of an answer for a model, and says how to read on: nothing is dropped without a word."""

from __future__ import annotations

from typing import Any

MOST_CHARACTERS = 4_000
"""of one text"""
MOST_ITEMS = 100
"""of one list"""
MOST_IN_ALL = 60_000
"""characters of the texts of one answer; what comes later is cut to `LEAST`"""
LEAST = 200
LONGEST_PART = 20_000
"""characters that `read_more` gives at once"""


class NoSuchPlace(LookupError):
    """A pointer leads nowhere in an answer; the message says from where on."""


class AnswerCutter:
    """Makes the short form of one answer: long texts and lists become `{"cut": …, "length", "pointer", "next"}`."""

    def __init__(self) -> None:
        self.left = MOST_IN_ALL

    def short(self, value: Any, pointer: str = "") -> Any:
        if isinstance(value, str):
            most = min(MOST_CHARACTERS, max(LEAST, self.left))
            self.left -= min(len(value), most)
            return value if len(value) <= most else _cut(value[:most], len(value), pointer, most)
        if isinstance(value, list):
            items = [self.short(item, f"{pointer}/{index}") for index, item in enumerate(value[:MOST_ITEMS])]
            return items if len(value) <= MOST_ITEMS else _cut(items, len(value), pointer, MOST_ITEMS)
        if isinstance(value, dict):
            return {key: self.short(item, f"{pointer}/{_escaped(key)}") for key, item in value.items()}
        return value


def _cut(part: Any, length: int, pointer: str, following: int | None) -> dict[str, Any]:
    return {"cut": part, "length": length, "pointer": pointer, "next": following}


def part_of(answer: Any, pointer: str, offset: int) -> dict[str, Any]:
    """What stands at `pointer` from `offset` on; `next` is where to read on, None at the end. Raises `NoSuchPlace`."""
    value = at(answer, pointer)
    if not isinstance(value, str | list):
        return {"value": AnswerCutter().short(value, pointer)}
    most = LONGEST_PART if isinstance(value, str) else MOST_ITEMS
    end = offset + most
    part: Any = value[offset:end]
    if isinstance(part, list):
        cutter = AnswerCutter()
        part = [cutter.short(item, f"{pointer}/{offset + index}") for index, item in enumerate(part)]
    return _cut(part, len(value), pointer, end if end < len(value) else None)


def at(answer: Any, pointer: str) -> Any:
    """The value at a JSON pointer (RFC 6901)."""
    value = answer
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        try:
            value = value[int(key)] if isinstance(value, list) else value[key]
        except (KeyError, ValueError, IndexError, TypeError):
            raise NoSuchPlace(f"the answer has no {key[:100]!r} on the way to {pointer[:200]!r}") from None
    return value


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
