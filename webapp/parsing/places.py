"""Places of a decoded text in the raw text, through the edits that lie between: a lookup costs their logarithm."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from webapp.parsing.edit import Edit
from webapp.parsing.span import Span


@dataclass(frozen=True, slots=True)
class Places:
    """Stretches of the decoded text: where each begins, the raw span it came from, and whether an edit made it."""

    starts: list[int]
    spans: list[Span]
    by_edit: list[bool]

    def raw(self, start: int, end: int) -> Span:
        """The raw span of the decoded `[start, end)`; an edit's new text counts as the whole text it replaced."""
        if start >= end:
            at = self._at(start)
            return Span(at, at)
        last = self._stretch(end - 1)
        stop = self.spans[last].end if self.by_edit[last] else self._at(end - 1) + 1
        return Span(self._at(start), max(self._at(start), stop))

    def _at(self, at: int) -> int:
        index = self._stretch(at)
        begin, end = self.spans[index]
        return begin if self.by_edit[index] else min(end, begin + at - self.starts[index])

    def _stretch(self, at: int) -> int:
        return max(0, bisect_right(self.starts, at) - 1)


def places(span: Span, edits: Sequence[Edit]) -> Places:
    """The mapping for `apply(raw, span, edits)`."""
    mapping = Places([], [], [])
    at, decoded = span.start, 0
    for edit in edits:
        decoded = _copied(mapping, Span(at, edit.span.start), decoded)
        if edit.new:
            mapping.starts.append(decoded)
            mapping.spans.append(edit.span)
            mapping.by_edit.append(True)
            decoded += len(edit.new)
        at = edit.span.end
    _copied(mapping, Span(at, max(at, span.end)), decoded)
    if not mapping.starts:
        mapping.starts.append(0)
        mapping.spans.append(Span(at, at))
        mapping.by_edit.append(False)
    return mapping


def _copied(mapping: Places, span: Span, decoded: int) -> int:
    if span.start < span.end:
        mapping.starts.append(decoded)
        mapping.spans.append(span)
        mapping.by_edit.append(False)
    return decoded + span.end - span.start
