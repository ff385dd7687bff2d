"""What commands print: lines for people or JSON for programs, a trace drawn, how far something is that takes long."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any

import click

from webapp import jsontext
from webapp.exports import textmarks
from webapp.exports.textmarks import TextPiece
from webapp.parsing import words
from webapp.parsing.drawing import telling
from webapp.parsing.trace import Attempt, Fault, Trace
from webapp.visible import clipped, visible

COLOURS = {"clean": "green", "extracted": "cyan", "repaired": "yellow", "failed": "red", "none": "bright_black"}
STYLES: dict[str, dict[str, Any]] = {
    "removed": {"fg": "red", "strikethrough": True},
    "inserted": {"fg": "green", "underline": True},
    "bracket": {"fg": "cyan"},
    "fault": {"fg": "red"},
    "read": {},
}
"""how the looks of `textmarks` are written; all others are dim"""
LONGEST_VALUE_LINE = 2000
"""characters"""
MOST_ATTEMPTS, MOST_EDITS, MOST_VALUES, MOST_LINES = 40, 12, 10, 60
BETWEEN = 0.1
"""seconds between two looks of a bar"""
WIDTH = 24
"""columns of a bar that is full"""


Line = str | tuple[str, ...]
"""one line for people, or its cells, which tabs divide"""


def say(as_json: bool, document: Any, *lines: Line, errors: Iterable[Line] = ()) -> None:
    """One JSON document for programs, or lines for people, and `errors` on standard error."""
    if as_json:
        print_json(document)
        return
    put(*lines)
    put(*errors, err=True)


def put(*lines: Line, err: bool = False) -> None:
    """Lines for people, with nothing in them that cannot be seen or that moves other characters."""
    for line in lines:
        click.echo(visible(line) if isinstance(line, str) else "\t".join(map(visible, line)), err=err)


def print_json(document: Any) -> None:
    """One JSON document; dataclasses, named tuples and rows as objects, times as ISO 8601."""
    click.echo(jsontext.portable(_plain(document)))


def _plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value.isoformat() if isinstance(value, datetime) else value


@contextmanager
def bar(title: str, *, hidden: bool = False) -> Iterator[Callable[..., None]]:
    """What to tell how much of how much is finished, and a note: a line on standard error shows it until the end."""
    draws = not hidden and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    began, due = time.monotonic(), 0.0

    def tell(finished: int, total: int | None, note: str = "") -> None:
        nonlocal due
        if draws and ((now := time.monotonic()) >= due or finished == total):
            due = now + BETWEEN
            words = f"{title} {note}".rstrip()
            if total:
                left = (now - began) * (total - finished) / finished if finished else 0.0
                words = f"{words} {finished:,}/{total:,}, {left:,.0f} s left"
                room = max(0, min(WIDTH, _columns() - cells(words) - 2))
                words += " " + "━" * (room * finished // total)
            _redraw(words)

    try:
        yield tell
    finally:
        if draws:
            _redraw("")


def confirm(question: str, otherwise: str = "use --yes") -> None:
    """Ask before something that cannot be undone: a usage error without a terminal, and the end after a no."""
    if not sys.stdin.isatty():
        raise click.UsageError(f"cannot ask for confirmation without a terminal: {otherwise}")
    click.confirm(question, abort=True, err=True)


def _redraw(line: str) -> None:
    """Put a line in place of the one on standard error; what erases that is no colour, and stays under NO_COLOR."""
    while cells(line) >= _columns():
        line = line[:-1]
    click.echo(f"\r{line}\x1b[K", err=True, nl=False, color=True)


def _columns() -> int:
    return shutil.get_terminal_size().columns


def cells(text: str) -> int:
    """How many columns a text takes in a terminal: two for a wide character, none for a mark on another one."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else unicodedata.category(c) not in _NO_WIDTH for c in text)


_NO_WIDTH = ("Mn", "Me", "Cf")


def styled(pieces: Iterable[TextPiece]) -> str:
    """The pieces in their styles, on one line: a terminal breaks what is too long itself."""
    return "".join(click.style(text, **STYLES.get(look, {"dim": True})) for text, look in pieces)


def value_lines(value: Any, indent: int | None = 2) -> list[str]:
    """A decoded value as JSON for people: indented, not escaped beyond need."""
    try:
        text = json.dumps(value, indent=indent, ensure_ascii=False, check_circular=False)
    except RecursionError:
        return ["(nested too deep to be shown here: --json prints it)"]
    return [clipped(line, LONGEST_VALUE_LINE) for line in text.split("\n")]


def print_table(traces: Sequence[Trace]) -> None:
    """One line a profile: mark, name, verdict, edits, time, the beginning of the values; and one for each flag."""
    width = max(len(trace.profile) for trace in traces)
    for trace in traces:
        edits = words.counted(len(words.chosen_edits(trace)), "edit")
        facts = f" {trace.profile:<{width}}  {trace.verdict:<9}  {edits:>9}  {words.milliseconds(trace):>11}  "
        room = max(24, _columns() - len(facts) - 1) if sys.stdout.isatty() else 100
        preview = "  ".join(value_lines(value, None)[0] for value in trace.values[:MOST_VALUES])
        mark = click.style(words.MARKS[trace.verdict], fg=COLOURS[trace.verdict])
        shown = preview if len(preview) < room else f"{preview[: room - 1]}…"
        click.echo(mark + facts + click.style(shown, dim=True), sys.stdout)
        for sentence in words.flag_sentences(trace):
            click.secho(visible(f"   {'':<{width}}{sentence}"), sys.stdout, dim=True)


def print_trace(raw: str, trace: Trace) -> None:
    """The verdict with its flags, the text with its marks, the attempts in order, the values; what is cut says so."""
    for part in (_verdict(trace), [""], _raw_part(raw, trace), [""], _attempts(raw, trace), [""], _values(trace)):
        for line in part:
            click.echo(line, sys.stdout)  # as it is encoded: click's own choice is UTF-8 where that is ASCII


def _verdict(trace: Trace) -> Iterator[str]:
    verdict = f"{words.MARKS[trace.verdict]} {words.verdict_sentence(trace)}"
    yield click.style(verdict, fg=COLOURS[trace.verdict], bold=True)
    yield from (visible(f"  {sentence}") for sentence in (*words.flag_sentences(trace), *words.policy_sentences(trace)))


def _raw_part(raw: str, trace: Trace) -> Iterator[str]:
    count = raw.count("\n") + 1
    yield _bold(f"Response, {words.counted(count, 'line')}, {words.counted(len(raw), 'character')}")
    width = len(str(count))
    for line in textmarks.numbered(raw, telling(trace)):
        if isinstance(line, int):
            yield _dim(f"{'⋮':>{width}}   {words.counted(line, 'line')} not shown")
            continue
        rule = "┃" if any(map(textmarks.is_read, line.stretches)) else "│"
        yield _dim(f"{line.number:>{width}} {rule} ") + styled(textmarks.pieces(line))


def _bold(text: str) -> str:
    return click.style(text, bold=True)


def _dim(text: str) -> str:
    return click.style(text, dim=True)


def _attempts(raw: str, trace: Trace) -> Iterator[str]:
    yield _bold("Attempts" if trace.attempts else "No attempts")
    tried = [index for index in range(len(trace.attempts)) if not words.is_look(trace, index)]
    for index in (tried or range(len(trace.attempts)))[:MOST_ATTEMPTS]:
        yield from _attempt(raw, trace.attempts[index], index, trace)
    yield from _more(len(tried or trace.attempts) - MOST_ATTEMPTS, "attempt")
    if tried and (looks := len(trace.attempts) - len(tried)):
        yield _dim(f"     {words.counted(looks, 'place')} only looked at: --json prints all")


def _attempt(raw: str, attempt: Attempt, index: int, trace: Trace) -> Iterator[str]:
    chosen = index in trace.chosen
    verdict = _verdict_of(attempt, trace.verdict, chosen)
    colour = COLOURS[trace.verdict if chosen and attempt.outcome != "failed" else verdict]
    score = "" if attempt.score is None else f", score {attempt.score:g}"
    sentence = words.attempt_sentence(attempt, chosen)
    line = visible(f"{attempt.strategy} {attempt.span.start}–{attempt.span.end}{score}: {sentence}")
    yield click.style(f"{words.MARKS[verdict]} {index + 1}. ", fg=colour) + click.style(line, bold=chosen or None)
    for edit in attempt.edits[:MOST_EDITS]:
        yield f"     {visible(words.edit_sentence(raw, edit))}"
    yield from _more(len(attempt.edits) - MOST_EDITS, "edit")
    if attempt.error:
        yield from _caret(raw, attempt.error)
        if sentence := words.in_python(trace.profile):
            yield _dim(f"     {sentence}")
    if attempt.site:
        yield _dim(f"     {visible(words.site_sentence(attempt.site))}")
    if attempt.note:
        yield click.style(f"     {visible(words.filled(attempt.note))}", dim=True, italic=True)


def _verdict_of(attempt: Attempt, verdict: str, chosen: bool) -> str:
    """The verdict whose mark an attempt gets."""
    if attempt.outcome == "failed" or not chosen:
        return "failed" if attempt.outcome == "failed" else "none"
    return "repaired" if attempt.edits else "clean" if verdict == "clean" else "extracted"


def _caret(raw: str, error: Fault) -> Iterator[str]:
    """The line of the error with a caret under the very character, and the decoder's words."""
    start = raw.rfind("\n", 0, error.at) + 1
    end = raw.find("\n", error.at)
    end = len(raw) if end < 0 else end
    start_shown, right = max(start, error.at - 50), min(end, error.at + 26)
    before = ("…" if start_shown > start else "") + visible(raw[start_shown : error.at])
    after = visible(raw[error.at : right]) + ("…" if right < end else "")
    gutter = f"     {error.line} │ "
    yield f"{_dim(gutter)}{before}{after}"
    caret = " " * (len(gutter) + cells(before))
    yield click.style(f"{caret}▲ {visible(words.wording(error.message))}", fg="red")
    if error.said != f"{error.message}: line {error.line} column {error.column} (char {error.at})":
        yield _dim(f"     {visible(error.type)}: {visible(error.said)}")


def _values(trace: Trace) -> Iterator[str]:
    if not trace.values:
        yield _bold("No value")
    for index, value in enumerate(trace.values[:MOST_VALUES]):
        count = len(trace.values)
        yield _bold("Value" if count == 1 else f"Value {index + 1} of {count}")
        lines = value_lines(value)
        yield from lines[:MOST_LINES]
        yield from _more(len(lines) - MOST_LINES, "line")
    yield from _more(len(trace.values) - MOST_VALUES, "value")


def _more(number: int, noun: str) -> Iterator[str]:
    if number > 0:
        yield _dim(f"     … {words.counted(number, noun)} more: --json prints all")
