"""The words for a trace: marks, verdicts, places and edits, without colour."""

from __future__ import annotations

from collections.abc import Iterator

from webapp.commands._visible import clipped, visible
from webapp.parsing.edit import Edit
from webapp.parsing.span import place
from webapp.parsing.trace import Attempt, Fault, Trace

MARKS = {"clean": "●", "extracted": "○", "repaired": "◆", "failed": "✕", "none": "·"}
MEANING = {
    "clean": "the response is JSON",
    "extracted": "found unchanged inside other text",
    "repaired": "decoded after repair",
    "failed": "something offered itself and could not be decoded",
    "none": "nothing offered itself as JSON",
}
COLOURS = {"clean": "green", "extracted": "cyan", "repaired": "yellow", "failed": "red", "none": "bright_black"}
FLAGS = {
    "truncated": "the response is cut off",
    "ambiguous": "other values were as good",
    "exhausted": "the budget ended before the search did",
}


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def milliseconds(trace: Trace) -> str:
    return f"{trace.microseconds / 1000:,.2f} ms"


def edits_of(trace: Trace) -> int:
    return sum(len(trace.attempts[index].edits) for index in trace.chosen)


def verdict_line(trace: Trace) -> str:
    """For example `repaired: decoded after repair, by windlass-balanced 1. 1 value, 1 edit, 2 attempts, 0.21 ms`."""
    counts = (counted(len(trace.values), "value"), counted(edits_of(trace), "edit"))
    tail = ", ".join((*counts, counted(len(trace.attempts), "attempt"), milliseconds(trace)))
    return f"{trace.verdict}: {MEANING[trace.verdict]}, by {trace.profile} {trace.version}. {tail}"


def head(trace: Trace) -> Iterator[tuple[str, bool]]:
    """The first lines: mark and verdict (True: to be emphasised), then the flags and policies that are set."""
    yield f"{MARKS[trace.verdict]} {verdict_line(trace)}", True
    for flag in flags(trace):
        yield f"  {flag}", False


def flags(trace: Trace) -> list[str]:
    said = [f"{name}: {meaning}" for name, meaning in FLAGS.items() if getattr(trace, name)]
    policies = ", ".join(f"{name} {value}" for name, value in trace.policy.items() if value)
    return said + ([visible(f"policies: {policies}")] if policies else [])


def attempt_mark(attempt: Attempt, verdict: str, chosen: bool) -> str:
    if attempt.outcome == "failed":
        return MARKS["failed"]
    if not chosen:
        return MARKS["none"]
    return MARKS["repaired"] if attempt.edits else MARKS["clean" if verdict == "clean" else "extracted"]


def attempt_line(attempt: Attempt) -> str:
    """For example `fenced 31–94 accepted after 1 edit, score 120`."""
    said = f"{attempt.strategy} {attempt.span.start}–{attempt.span.end} {attempt.outcome}"
    if attempt.edits:
        said += f" after {counted(len(attempt.edits), 'edit')}"
    if attempt.score is not None:
        said += f", score {attempt.score:g}"
    return visible(said + (f": {attempt.reason}" if attempt.reason else ""))


def edit_line(raw: str, edit: Edit) -> str:
    """For example `extra_closer, line 5 column 62: removed "}}"`."""
    line, column = place(raw, edit.span.start)
    old, new = (f'"{clipped(text, 80)}"' for text in (edit.old, edit.new))
    said = f"replaced {old} by {new}" if edit.old and edit.new else f"removed {old}" if edit.old else f"inserted {new}"
    return f"{visible(edit.repair)}, line {line} column {column}: {said}"


def error_lines(error: Fault) -> list[str]:
    """The decoder's words with the place in the response; below them its own, where its text began elsewhere."""
    said = f"{error.message}: line {error.line} column {error.column} (char {error.at})"
    return [visible(said)] + ([] if said == error.said else [f"json.loads said: {visible(error.said)}"])
