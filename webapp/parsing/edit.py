"""Edits: the replacements that repairs make, applied to a span and mapped back to the raw text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from webapp.parsing.span import Span


class Edit(NamedTuple):
    """One replacement that a repair made; `old` is exactly `raw` at `span`, an insertion has an empty span."""

    repair: str
    span: Span
    old: str
    new: str

    def as_dict(self) -> dict[str, Any]:
        return {"repair": self.repair, "span": list(self.span), "old": self.old, "new": self.new}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Edit:
        return cls(data["repair"], Span(*data["span"]), data["old"], data["new"])


def apply(raw: str, span: Span, edits: Sequence[Edit]) -> str:
    """`raw[start:end]` after `edits`, which are in order, do not overlap and lie inside `span`.

    Raises `ValueError` where they are not: such edits would break the round trip that a trace promises.
    """
    if not edits:
        return raw[span.start : span.end]
    pieces: list[str] = []
    at = span.start
    for edit in edits:
        start, end = edit.span
        if start < at or end < start or end > span.end or raw[start:end] != edit.old:
            raise ValueError(f"{edit.repair} at {start}–{end} does not fit the text")
        pieces += (raw[at:start], edit.new)
        at = end
    pieces.append(raw[at : span.end])
    return "".join(pieces)


def to_raw(span: Span, edits: Sequence[Edit], at: int) -> int:
    """The offset in the raw text of offset `at` in the decoded text; inside an edit's new text, the edit's start."""
    shift = span.start
    for edit in edits:
        new_start = edit.span.start - shift
        if at < new_start:
            break
        if at < new_start + len(edit.new):
            return edit.span.start
        shift += (edit.span.end - edit.span.start) - len(edit.new)
    return min(at + shift, span.end)
