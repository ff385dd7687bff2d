"""A trace drawn for people with rich: the verdict, the raw text with marks, the attempts in order, the values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.text import Text

from webapp.commands._verdict import COLOURS
from webapp.exports import textmarks
from webapp.parsing import words
from webapp.parsing.drawing import DrawnLine, telling
from webapp.parsing.trace import Attempt, Fault, Trace
from webapp.visible import clipped, visible

STYLES = {"removed": "red strike", "inserted": "green underline", "bracket": "cyan", "fault": "red", "read": ""}
LONGEST_VALUE_LINE = 2000
"""characters"""
MOST_ATTEMPTS, MOST_EDITS, MOST_VALUES, MOST_LINES = 40, 12, 10, 60


def value_lines(value: Any, indent: int | None = 2) -> list[str]:
    """A decoded value as JSON for people: indented, not escaped beyond need."""
    try:
        text = json.dumps(value, indent=indent, ensure_ascii=False, check_circular=False)
    except RecursionError:
        return ["(nested too deep to be shown here: --json prints it)"]
    return [clipped(line, LONGEST_VALUE_LINE) for line in text.split("\n")]


def console() -> Console:
    """Standard output for people: nothing in a trace is markup."""
    return Console(highlight=False, emoji=False, markup=False)


def render_table(console: Console, traces: Sequence[Trace]) -> None:
    """One line a profile: mark, name, verdict, edits, time, the beginning of the values; and one for each flag."""
    width = max(len(trace.profile) for trace in traces)
    for trace in traces:
        edits = words.counted(len(words.chosen_edits(trace)), "edit")
        facts = f" {trace.profile:<{width}}  {trace.verdict:<9}  {edits:>9}  {words.milliseconds(trace):>11}  "
        mark = (words.MARKS[trace.verdict], COLOURS[trace.verdict])
        preview = "  ".join(value_lines(value, None)[0] for value in trace.values[:MOST_VALUES])
        room = max(24, console.width - len(facts) - 1) if console.is_terminal else 100
        line = Text.assemble(mark, facts, (preview, "dim"))
        line.truncate(len(facts) + 1 + room, overflow="ellipsis")
        console.print(line, soft_wrap=True)
        for sentence in words.flag_sentences(trace):
            console.print(Text(visible(f"   {'':<{width}}{sentence}"), style="dim"), soft_wrap=True)


def render(console: Console, raw: str, trace: Trace) -> None:
    """Print all but the head of a trace (see `_verdict.print_head`). Long texts and lists are cut, and say so."""
    for part in (_raw_part(console, raw, trace), _attempts(raw, trace), _values(trace)):
        console.print()
        for line in part:
            console.print(line, soft_wrap=True)


def _raw_part(console: Console, raw: str, trace: Trace) -> Iterator[Text]:
    count = raw.count("\n") + 1
    yield Text(f"Response, {words.counted(count, 'line')}, {words.counted(len(raw), 'character')}", style="bold")
    width = len(str(count))
    for line in textmarks.numbered(raw, telling(trace)):
        if isinstance(line, int):
            yield Text(f"{'⋮':>{width}}   {words.counted(line, 'line')} not shown", style="dim")
            continue
        bar = "┃" if any(map(textmarks.is_read, line.stretches)) else "│"
        yield from _wrapped(console, f"{line.number:>{width}} {bar} ", f"{'':>{width}} {bar} ", drawn_line(line))


def drawn_line(line: DrawnLine) -> Text:
    pieces = textmarks.pieces(line)
    return Text.assemble(*((piece.text, STYLES.get(piece.look, "dim")) for piece in pieces), no_wrap=False)


def _wrapped(console: Console, first: str, indent: str, text: Text) -> Iterator[Text]:
    """`text` behind a gutter; folded at the terminal's width, not folded where there is no terminal."""
    room = max(20, console.width - len(first))
    if not console.is_terminal or cell_len(text.plain) <= room:
        yield Text.assemble((first, "dim"), text)
        return
    folds = accumulate(map(len, chop_cells(text.plain, room)))
    for index, part in enumerate(text.divide(folds)):
        if part:
            yield Text.assemble((indent if index else first, "dim"), part)


def _attempts(raw: str, trace: Trace) -> Iterator[Text]:
    yield Text("Attempts" if trace.attempts else "No attempts", style="bold")
    tried = [index for index in range(len(trace.attempts)) if not words.is_look(trace, index)]
    for index in (tried or range(len(trace.attempts)))[:MOST_ATTEMPTS]:
        yield from _attempt(raw, trace.attempts[index], index, trace)
    yield from _more(len(tried or trace.attempts) - MOST_ATTEMPTS, "attempt")
    if tried and (looks := len(trace.attempts) - len(tried)):
        yield Text(f"     {words.counted(looks, 'place')} only looked at: --json prints all", style="dim")


def _attempt(raw: str, attempt: Attempt, index: int, trace: Trace) -> Iterator[Text]:
    chosen = index in trace.chosen
    verdict = _verdict_of(attempt, trace.verdict, chosen)
    style = COLOURS[trace.verdict if chosen and attempt.outcome != "failed" else verdict]
    score = "" if attempt.score is None else f", score {attempt.score:g}"
    sentence = words.attempt_sentence(attempt, chosen)
    line = visible(f"{attempt.strategy} {attempt.span.start}–{attempt.span.end}{score}: {sentence}")
    yield Text.assemble((f"{words.MARKS[verdict]} {index + 1}. ", style), (line, "bold" if chosen else ""))
    for edit in attempt.edits[:MOST_EDITS]:
        yield Text(f"     {visible(words.edit_sentence(raw, edit))}")
    yield from _more(len(attempt.edits) - MOST_EDITS, "edit")
    if attempt.error:
        yield from _caret(raw, attempt.error)
        if said := words.in_python(trace.profile):
            yield Text(f"     {said}", style="dim")
    if attempt.site:
        yield Text(f"     {visible(words.site_sentence(attempt.site))}", style="dim")
    if attempt.note:
        yield Text(f"     {visible(words.filled(attempt.note))}", style="dim italic")


def _verdict_of(attempt: Attempt, verdict: str, chosen: bool) -> str:
    """The verdict whose mark an attempt gets."""
    if attempt.outcome == "failed" or not chosen:
        return "failed" if attempt.outcome == "failed" else "none"
    return "repaired" if attempt.edits else "clean" if verdict == "clean" else "extracted"


def _caret(raw: str, error: Fault) -> Iterator[Text]:
    """The line of the error with a caret under the very character, and the decoder's words."""
    start = raw.rfind("\n", 0, error.at) + 1
    end = raw.find("\n", error.at)
    end = len(raw) if end < 0 else end
    start_shown, right = max(start, error.at - 50), min(end, error.at + 26)
    before = ("…" if start_shown > start else "") + visible(raw[start_shown : error.at])
    after = visible(raw[error.at : right]) + ("…" if right < end else "")
    gutter = f"     {error.line} │ "
    yield Text.assemble((gutter, "dim"), before, after)
    caret = " " * (len(gutter) + cell_len(before))
    yield Text(f"{caret}▲ {visible(words.wording(error.message))}", style="red")
    if error.said != f"{error.message}: line {error.line} column {error.column} (char {error.at})":
        yield Text(f"     {visible(error.type)}: {visible(error.said)}", style="dim")


def _values(trace: Trace) -> Iterator[Text]:
    if not trace.values:
        yield Text("No value", style="bold")
    for index, value in enumerate(trace.values[:MOST_VALUES]):
        count = len(trace.values)
        yield Text("Value" if count == 1 else f"Value {index + 1} of {count}", style="bold")
        lines = value_lines(value)
        yield from (Text(line) for line in lines[:MOST_LINES])
        yield from _more(len(lines) - MOST_LINES, "line")
    yield from _more(len(trace.values) - MOST_VALUES, "value")


def _more(number: int, noun: str) -> Iterator[Text]:
    if number > 0:
        yield Text(f"     … {words.counted(number, noun)} more: --json prints all", style="dim")
