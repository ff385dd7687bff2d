"""What a URL asks the debugger for: profile, attempt, state after an edit, view, marked range, further windows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from webapp.parsing.span import Span
from webapp.web import windows

VIEWS = ("value", "text", "diff")
_RANGE = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class DebuggerQuery:
    """`edit` 0 is the state before any edit, None the one after all; `lines` and `characters` are further windows."""

    profile: str | None = None
    attempt: int | None = None
    edit: int | None = None
    view: str | None = None
    range: Span | None = None
    lines: Span | None = None
    characters: Span | None = None

    def windows(self, raw: str) -> tuple[Span, ...]:
        """The further windows, as spans of `raw`."""
        stretches = [windows.of_lines(raw, *self.lines)] if self.lines else []
        return (*stretches, *([windows.of_characters(raw, *self.characters)] if self.characters else []))

    def marked(self, raw: str) -> Span | None:
        """The marked range as far as it lies in `raw`."""
        if self.range is None or self.range.start >= len(raw):
            return None
        return Span(self.range.start, min(self.range.end, len(raw)))


def from_args(args: Mapping[str, str]) -> DebuggerQuery:
    """What the query asks for; what makes no sense is as if it were not there."""
    view = args.get("view")
    return DebuggerQuery(
        args.get("profile") or None,
        _number(args.get("attempt")),
        _number(args.get("edit")),
        view if view in VIEWS else None,
        _span(args.get("r")),
        _span(args.get("lines")),
        _span(args.get("chars")),
    )


def _number(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(r"[0-9]{1,9}", text) else None


def _span(text: str | None) -> Span | None:
    match = _RANGE.fullmatch(text or "")
    if not match or int(match[1]) > int(match[2]):
        return None
    return Span(int(match[1]), int(match[2]))
