"""Sentences: what a page says in words about a trace, an attempt or a session."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from webapp.parsing import Attempt, Trace
from webapp.parsing.span import place

VERDICTS = {
    "clean": "the response is JSON",
    "extracted": "found unchanged inside other text",
    "repaired": "decoded after repairs",
    "failed": "something offered itself as JSON and could not be decoded",
    "none": "nothing offered itself as JSON",
}
KINDS = {
    "prompt": "prompt",
    "response": "response",
    "tool_call": "tool call",
    "tool_result": "tool result",
    "error": "error",
    "event": "event",
}


@dataclass(frozen=True, slots=True)
class EditLine:
    """One edit of the current attempt, with its place in the raw text."""

    repair: str
    line: int
    column: int
    old: str
    new: str


def edit_lines(raw: str, attempt: Attempt, limit: int = 50) -> list[EditLine]:
    """The first `limit` edits with line and column of their start."""
    return [EditLine(edit.repair, *place(raw, edit.span.start), edit.old, edit.new) for edit in attempt.edits[:limit]]


def repairs(attempt: Attempt) -> str:
    """`2 repairs: extra closer, trailing comma`."""
    counts = Counter(edit.repair.replace("_", " ") for edit in attempt.edits)
    names = ", ".join(name if count == 1 else f"{name} ×{count}" for name, count in counts.items())
    return f"{_number(len(attempt.edits), 'edit')}: {names}"


def attempt_sentence(attempt: Attempt, chosen: bool) -> str:
    """What became of an attempt, in words."""
    after = f" after {repairs(attempt)}" if attempt.edits else ""
    if attempt.outcome == "accepted":
        return f"Accepted{after}." if chosen else f"Decodes{after}, but was not chosen."
    if attempt.outcome == "rejected":
        return f"Discarded{after}: {attempt.reason}."
    if attempt.error:
        error = attempt.error
        where = f"line {error.line}, column {error.column}, offset {error.at}"
        return f"{wording(error.message)} at {where}{after and ',' + after}."
    return f"Failed{after}: {attempt.reason}."


def wording(message: str) -> str:
    """The decoder's message without the "at" on which some end, since a place follows anyway."""
    return message.removesuffix(" at")


def trace_sentence(trace: Trace) -> str:
    """The verdict of one profile in a sentence, without its name."""
    if trace.chosen:
        count = len(trace.chosen)
        what = "one value" if count == 1 else f"{count} values"
        edits = [edit for index in trace.chosen for edit in trace.attempts[index].edits]
        if edits:
            names = list(dict.fromkeys(edit.repair.replace("_", " ") for edit in edits))
            return f"reads {what} after {_number(len(edits), 'edit')} ({', '.join(names[:4])})"
        return f"reads {what}" + ("" if trace.verdict == "clean" else ", found inside other text")
    last = next((a for a in reversed(trace.attempts) if a.outcome == "failed" and a.error), None)
    if trace.verdict == "failed" and last and last.error:
        error = last.error
        return f"stops at line {error.line}, column {error.column}: {wording(error.message)}"
    if trace.verdict == "failed":
        return "gives up"
    ignored = sum(attempt.outcome == "rejected" for attempt in trace.attempts)
    return f"finds no JSON meant as such ({_number(ignored, 'candidate')} discarded)" if ignored else "finds no JSON"


def session_sentence(responses: int, failed: int, rescued: int, home: str, noticed: str = "") -> str:
    """What went wrong in a session: what its findings say together (`noticed`), then how many responses failed."""
    if not responses:
        return noticed or "No response was recorded in this session."
    if not failed:
        fine = f"All {responses:,} responses went through." if responses > 1 else "The one response went through."
        return f"{noticed} No response failed in production." if noticed else fine
    told = f"{failed:,} of {_number(responses, 'response')} failed in production, under `{home}`"
    reads = "it" if failed == 1 else "all of them" if rescued == failed else f"{rescued:,} of them"
    told += f"; `fencepost` reads {reads}." if rescued else "."
    return f"{noticed} {told}" if noticed else told


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
