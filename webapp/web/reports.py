"""A response as text to hand on: Markdown for a bug report or a model, and a test case in the form of `tests/cases`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from webapp import jsontext
from webapp.parsing import Attempt, Trace
from webapp.parsing.edit import Edit
from webapp.parsing.span import place
from webapp.web import words
from webapp.web.glyphs import SPECIAL, glyph, visible

RAW_LENGTH = 60_000
"""Code points of raw text in a report; of a longer one both ends."""
LISTED = 50


def markdown(raw: str, trace: Trace, facts: Sequence[tuple[str, str]], verdicts: Sequence[tuple[str, str]]) -> str:
    """The whole story: where it comes from, the raw text in a fence, every attempt, the values, other profiles."""
    parts = [
        "# A response that should have become JSON",
        "\n".join(f"- {name}: {text}" for name, text in facts),
        f"`{trace.profile}` {words.trace_sentence(trace)}.",
        f"## Raw response ({len(raw):,} characters)\n\n{_fenced(_shortened(raw))}",
    ]
    if special := _special(raw):
        parts.append(f"Characters that do not show: {special}.")
    parts.append(f"## Attempts of `{trace.profile}` {trace.version}\n\n{_attempts(raw, trace)}".rstrip())
    values = trace.values[:LISTED]
    parts += [f"## Decoded value\n\n{_fenced(_shortened(jsontext.pretty(value)), 'json')}" for value in values]
    if verdicts:
        parts.append("## Other profiles\n\n" + "\n".join(f"- `{name}`: {said}" for name, said in verdicts))
    return "\n\n".join(parts) + "\n"


def case(raw: str, trace: Trace, expected: Sequence[Any] | None = None) -> str:
    """One case: title, raw text, values, what was done. `expected` stands for the values that a person expects.

    A repaired response gives its edits, as the files named after repairs hold them, every other its verdict.
    """
    plain = "." not in raw.split("\n") and not SPECIAL.search(raw)
    text = raw if plain else raw.encode("unicode_escape").decode("ascii")
    values = trace.values if expected is None else expected
    edits = [edit for index in trace.chosen for edit in trace.attempts[index].edits]
    done = [f"{edit.repair}@{edit.span.start}-{edit.span.end}" for edit in edits] or [trace.verdict]
    lines = [
        "plain" if plain else "escaped",
        ".",
        "\\x2e" if text == "." else text,
        ".",
        *(json.dumps(value) for value in values),
        ".",
        " ".join(done + ["truncated"] * trace.truncated),
    ]
    return "\n".join(lines) + "\n"


def case_file(trace: Trace) -> str:
    """The file of `tests/cases` in which the case would stand."""
    edits = [edit for index in trace.chosen for edit in trace.attempts[index].edits]
    return f"{edits[0].repair}.md" if edits else "responses.md"


def _fenced(text: str, info: str = "") -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{info}\n{text}\n{ticks}"


def _shortened(text: str) -> str:
    if len(text) <= RAW_LENGTH:
        return text
    half = RAW_LENGTH // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half:,} characters left out …]\n{text[-half:]}"


def _special(raw: str) -> str:
    found = []
    for match in SPECIAL.finditer(raw[:RAW_LENGTH]):
        line, column = place(raw, match.start())
        found.append(f"{glyph(match[0]).name} at line {line}, column {column}")
        if len(found) == LISTED:
            return ", ".join(found) + " and more"
    return ", ".join(found)


def _attempts(raw: str, trace: Trace) -> str:
    lines = []
    for index, attempt in enumerate(trace.attempts[:LISTED]):
        chosen = index in trace.chosen
        said = visible(words.attempt_sentence(attempt, chosen))
        span = f"{attempt.span.start}-{attempt.span.end}"
        lines.append(f"{index + 1}. {attempt.strategy} at {span}{' (chosen)' if chosen else ''}: {said}")
        lines += [f"   - {_edit(raw, edit)}" for edit in attempt.edits[:LISTED]]
        lines += _more(attempt)
    left = len(trace.attempts) - LISTED
    return "\n".join(lines) + (f"\n\n{left:,} further attempts are not listed." if left > 0 else "")


def _more(attempt: Attempt) -> list[str]:
    left = len(attempt.edits) - LISTED
    return [f"   - and {left:,} further edits"] if left > 0 else []


def _edit(raw: str, edit: Edit) -> str:
    line, column = place(raw, edit.span.start)
    change = f"{json.dumps(edit.old)} becomes {json.dumps(edit.new)}" if edit.new else f"{json.dumps(edit.old)} goes"
    return f"{edit.repair} at line {line}, column {column}: {change}"
