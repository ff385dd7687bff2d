"""Spans: half-open ranges of a raw text, counted in Unicode code points."""

from __future__ import annotations

from typing import NamedTuple


class Span(NamedTuple):
    """`raw[start:end]`."""

    start: int
    end: int

    def of(self, raw: str) -> str:
        return raw[self.start : self.end]


def place(raw: str, at: int) -> tuple[int, int]:
    """Line and column of the code point at offset `at`, both from 1, as `json.JSONDecodeError` counts them."""
    return raw.count("\n", 0, at) + 1, at - raw.rfind("\n", 0, at)


def stripped(raw: str, start: int = 0, end: int | None = None, characters: str | None = None) -> Span:
    """The span of `raw[start:end]` without `characters` (white space where None) at its ends, as `str.strip` cuts."""
    end = len(raw) if end is None else end
    text = raw[start:end]
    start_at = len(text) - len(text.lstrip(characters))
    return Span(start + start_at, start + max(start_at, len(text.rstrip(characters))))
