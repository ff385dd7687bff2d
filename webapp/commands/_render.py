"""A trace drawn for people with rich: the verdict, the raw text with marks, the attempts in order, the values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len, get_character_cell_size
from rich.console import Console
from rich.text import Text

from webapp.commands import _marked, _words
from webapp.commands._visible import value_lines, visible
from webapp.parsing.trace import Attempt, Fault, Trace

STYLES = {"plain": "dim", "chosen": "", "edge": "cyan", "removed": "red strike", "inserted": "green underline"}
WRITTEN = {"removed": ("[-", "-]"), "inserted": ("{+", "+}")}
MOST_ATTEMPTS, MOST_EDITS, MOST_VALUES, MOST_LINES = 40, 12, 10, 60


def console() -> Console:
    """Standard output for people: nothing in a trace is markup."""
    return Console(highlight=False, emoji=False, markup=False)


def render_table(console: Console, traces: Sequence[Trace]) -> None:
    """One line a profile: mark, name, verdict, edits, time, the beginning of the values."""
    width = max(len(trace.profile) for trace in traces)
    for trace in traces:
        edits = _words.counted(_words.edits_of(trace), "edit")
        said = f" {trace.profile:<{width}}  {trace.verdict:<9}  {edits:>9}  {_words.milliseconds(trace):>11}  "
        mark = (_words.MARKS[trace.verdict], _words.COLOURS[trace.verdict])
        preview = "  ".join(value_lines(value, None)[0] for value in trace.values[:MOST_VALUES])
        room = max(24, console.width - len(said) - 1) if console.is_terminal else 100
        line = Text.assemble(mark, said, (preview, "dim"))
        line.truncate(len(said) + 1 + room, overflow="ellipsis")
        console.print(line, soft_wrap=True)


def render(console: Console, raw: str, trace: Trace) -> None:
    """Print all but the head of a trace (see `_words.head`). Long texts and lists are cut, and say so."""
    for part in (_raw_part(console, raw, trace), _attempts(raw, trace), _values(trace)):
        console.print()
        for line in part:
            console.print(line, soft_wrap=True)


def _raw_part(console: Console, raw: str, trace: Trace) -> Iterator[Text]:
    lines = raw.count("\n") + 1
    yield Text(f"Response, {_words.counted(lines, 'line')}, {_words.counted(len(raw), 'character')}", style="bold")
    width = len(str(lines))
    for line in _marked.lines(raw, _marked.marks(trace)):
        if line.skipped:
            yield Text(f"{'⋮':>{width}}   {_words.counted(line.skipped, 'line')} not shown", style="dim")
        if line.number:
            bar = "┃" if line.inside else "│"
            yield from _wrapped(console, f"{line.number:>{width}} {bar} ", f"{'':>{width}} {bar} ", _drawn(line))


def _drawn(line: _marked.Line) -> Text:
    text = Text(no_wrap=False)
    for piece in line.pieces:
        before, after = WRITTEN.get(piece.kind, ("", ""))
        text.append(f"{before}{piece.text}{after}", style=STYLES[piece.kind])
    return text


def _wrapped(console: Console, first: str, others: str, text: Text) -> Iterator[Text]:
    """`text` behind a gutter; folded at the terminal's width, not folded where there is no terminal."""
    room = max(20, console.width - len(first))
    if not console.is_terminal or cell_len(text.plain) <= room:
        yield Text.assemble((first, "dim"), text)
        return
    for index, part in enumerate(text.divide(_folds(text.plain, room))):
        yield Text.assemble((others if index else first, "dim"), part)


def _folds(plain: str, room: int) -> Iterator[int]:
    """Where to cut so that no part is wider than `room` cells."""
    used = 0
    for index, char in enumerate(plain):
        width = get_character_cell_size(char)
        if used + width > room:
            yield index
            used = 0
        used += width


def _attempts(raw: str, trace: Trace) -> Iterator[Text]:
    yield Text("Attempts" if trace.attempts else "No attempts", style="bold")
    for index, attempt in enumerate(trace.attempts[:MOST_ATTEMPTS]):
        yield from _attempt(raw, attempt, index, trace)
    yield from _more(len(trace.attempts) - MOST_ATTEMPTS, "attempt")


def _attempt(raw: str, attempt: Attempt, index: int, trace: Trace) -> Iterator[Text]:
    chosen = index in trace.chosen
    mark = _words.attempt_mark(attempt, trace.verdict, chosen)
    style = _words.COLOURS["failed" if attempt.outcome == "failed" else trace.verdict if chosen else "none"]
    yield Text.assemble((f"{mark} {index + 1}. ", style), (_words.attempt_line(attempt), "bold" if chosen else ""))
    for edit in attempt.edits[:MOST_EDITS]:
        yield Text(f"     {_words.edit_line(raw, edit)}")
    yield from _more(len(attempt.edits) - MOST_EDITS, "edit")
    if attempt.error:
        yield from _caret(raw, attempt.error)
    if attempt.note:
        yield Text(f"     {visible(attempt.note)}", style="dim italic")


def _caret(raw: str, error: Fault) -> Iterator[Text]:
    """The line of the error with a caret under the very character, and the decoder's words."""
    start = raw.rfind("\n", 0, error.at) + 1
    end = raw.find("\n", error.at)
    end = len(raw) if end < 0 else end
    left, right = max(start, error.at - 50), min(end, error.at + 26)
    before = ("…" if left > start else "") + visible(raw[left : error.at])
    after = visible(raw[error.at : right]) + ("…" if right < end else "")
    gutter = f"     {error.line} │ "
    yield Text.assemble((gutter, "dim"), before, after)
    caret = " " * (len(gutter) + cell_len(before))
    said, *more = _words.error_lines(error)
    yield Text.assemble(f"{caret}▲ ", said, style="red")
    yield from (Text(f"     {line}", style="dim") for line in more)


def _values(trace: Trace) -> Iterator[Text]:
    if not trace.values:
        yield Text("No value", style="bold")
    for index, value in enumerate(trace.values[:MOST_VALUES]):
        yield Text(_value_title(index, trace.values), style="bold")
        lines = value_lines(value)
        yield from (Text(line) for line in lines[:MOST_LINES])
        yield from _more(len(lines) - MOST_LINES, "line")
    yield from _more(len(trace.values) - MOST_VALUES, "value")


def _value_title(index: int, values: Sequence[object]) -> str:
    return "Value" if len(values) == 1 else f"Value {index + 1} of {len(values)}"


def _more(number: int, noun: str) -> Iterator[Text]:
    if number > 0:
        yield Text(f"     … {_words.counted(number, noun)} more: --json prints all", style="dim")
