"""A failed response in one line: what stands round its first edit, with the edits in place."""

from __future__ import annotations

from dataclasses import dataclass

from webapp.parsing import stored_trace, words
from webapp.parsing.trace import Trace
from webapp.store.sessions.example_texts import ExampleText
from webapp.visible import visible

BEFORE, AFTER = 24, 96
"""code points of raw text in front of the first edit and behind it"""
LONGEST_EDIT = 40
MOST_EDITS = 6


@dataclass(frozen=True, slots=True)
class LinePiece:
    """A stretch of the line: `text`, `del`, `ins`, `at` (a place without a width) or `gap`, text that is left out."""

    kind: str
    text: str


def pieces(example: ExampleText) -> list[LinePiece]:
    """The line; of a text that is too long to be read for it, only how long it is."""
    if example.raw is None:
        return [LinePiece("gap", f"{example.size:,} bytes, too long to be drawn here")]
    if example.ours and example.ours.version == stored_trace.UNFIT:
        return [_text(example.raw[:AFTER]), LinePiece("gap", "its stored parse does not fit this text")]
    edits = words.chosen_edits(example.ours) if example.ours else []
    at = edits[0].span.start if edits else _place(example.ours)
    first = max(0, at - BEFORE)
    line = [LinePiece("gap", f"{first:,} characters")] if first else []
    last = min(len(example.raw), at + AFTER)
    here = first
    for edit in edits[:MOST_EDITS]:
        if edit.span.start >= last:
            break
        line.append(_text(example.raw[here : edit.span.start]))
        line += [LinePiece(kind, _cut(text)) for kind, text in (("del", edit.old), ("ins", edit.new)) if text]
        here = max(here, edit.span.end)
    if not edits and example.ours and not example.ours.chosen:
        line += [_text(example.raw[here:at]), LinePiece("at", "▲")]
        here = at
    line.append(_text(example.raw[here : max(here, last)]))
    if (more := len(example.raw) - max(here, last)) > 0:
        line.append(LinePiece("gap", f"{more:,} characters"))
    return [piece for piece in line if piece.text]


def _place(ours: Trace | None) -> int:
    """Where an unedited response is looked at: at its value, else at the last error."""
    if ours is None:
        return 0
    if ours.chosen:
        return ours.attempts[ours.chosen[0]].span.start
    fault = next((attempt.error for attempt in reversed(ours.attempts) if attempt.error), None)
    return fault.at if fault else 0


def _text(text: str) -> LinePiece:
    return LinePiece("text", visible(text.replace("\r\n", "\n").replace("\n", "↵")))


def _cut(text: str) -> str:
    cut = text if len(text) <= LONGEST_EDIT else f"{text[:LONGEST_EDIT]}…"
    return visible(cut.replace("\n", "↵"))
