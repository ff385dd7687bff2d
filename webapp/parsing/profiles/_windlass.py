"""What the Windlass parsers share: blocks become tool calls, at most one error a block (reports 001 and 004)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from webapp.parsing.edit import Edit
from webapp.parsing.engine import Tracer
from webapp.parsing.span import Span
from webapp.parsing.trace import Attempt

FENCE = re.compile(r"```json\s*(\{[^`]*\})\s*```", re.DOTALL | re.IGNORECASE)
_OPENING = re.compile(r"```json\s*", re.IGNORECASE)

# From a block that does not decode: the edits, and the log line of the program where they help.
Mend = Callable[[str, Span], tuple[list[Edit], str] | None]


class Block(NamedTuple):
    """A candidate in the order of its program; `ignored` says why the program never sees it."""

    span: Span
    edits: tuple[Edit, ...] = ()
    strategy: str = "fenced"
    ignored: str | None = None


def fenced(raw: str) -> Iterator[Block]:
    """What the strict pattern captures, and every ```json fence that it passes over, in the order of the text."""
    passed = 0
    for match in FENCE.finditer(raw):
        yield from _passed_over(raw, passed, match.start())
        yield Block(Span(*match.span(1)))
        passed = match.end()
    yield from _passed_over(raw, passed, len(raw))


def call_tools(tracer: Tracer, blocks: Iterable[Block], mend: Mend | None = None, silent: bool = False) -> None:
    """Try each block as a tool call, and choose those that are: objects with "tool".

    Blocks are counted from 0 without the ignored ones. Every other failure is one validation error for the
    agent, unless a block is a call: then the program drops all errors. A `silent` one catches each and tells nobody.
    """
    index, errors = 0, []
    for block in blocks:
        if block.ignored:
            tracer.reject(block.strategy, block.span, block.ignored)
            continue
        attempt = _decode(tracer, block, mend)
        if not attempt.ok or _is_error(tracer, attempt, index):
            errors.append(len(tracer.attempts) - 1)
        index += 1
    _tell(tracer, errors, "caught, and nobody is told" if silent else "a validation error for the agent")


def _decode(tracer: Tracer, block: Block, mend: Mend | None) -> Attempt:
    attempt = tracer.attempt(block.strategy, block.span, block.edits)
    mended = mend(tracer.raw, block.span) if mend and not attempt.ok else None
    if mended is None:
        return attempt
    edits, warning = mended
    attempt = tracer.attempt(block.strategy, block.span, edits)
    return tracer.amend(attempt, note=warning) if attempt.ok else attempt


def _is_error(tracer: Tracer, attempt: Attempt, index: int) -> bool:
    """Choose a call, reject what is none; True where a call has bad arguments."""
    value = attempt.value
    if not isinstance(value, dict) or "tool" not in value:
        tracer.amend(attempt, outcome="rejected", reason='decoded, but has no "tool": ignored silently')
        return False
    arguments = value.get("arguments", {})
    if not isinstance(arguments, dict):
        message = f"Tool call 'arguments' must be an object/dict, got {type(arguments).__name__}"
        tracer.amend(attempt, outcome="failed", reason=message)
        tracer.offered = True
        return True
    note = f"tool call prompt_tool_{index}: {_named(value['tool'])}"
    tracer.choose(tracer.amend(attempt, note=f"{attempt.note}; {note}" if attempt.note else note))
    return False


def _named(tool: object) -> str:
    if not isinstance(tool, str):
        return f"(a name that is no string but {type(tool).__name__})"
    return tool if len(tool) <= 80 else f"{tool[:79]}…"


def _tell(tracer: Tracer, errors: list[int], outcome: str) -> None:
    """Note on each failure what comes of it: nothing, where another block is a call.

    That is what the parser gives, and no statement of what its program then sent: that stands in a dump, or nowhere.
    """
    outcome = "dropped, since another block is a call" if tracer.chosen else outcome
    for index in errors:
        attempt = tracer.attempts[index]
        message = attempt.error.said if attempt.error else attempt.reason
        note = f"{outcome}: {message}"
        tracer.attempts[index] = replace(attempt, note=f"{attempt.note}; {note}" if attempt.note else note)


def _passed_over(raw: str, start: int, end: int) -> Iterator[Block]:
    for match in _OPENING.finditer(raw, start, end):
        begin = match.end()
        tick = raw.find("`", begin)
        stop = len(raw) if tick < 0 else tick
        yield Block(Span(begin, stop), ignored=f"{_why(raw, begin, tick)}: ignored silently")


def _why(raw: str, begin: int, tick: int) -> str:
    if not raw.startswith("{", begin):
        return "does not start with {"
    if tick < 0:
        return "no closing fence"
    if not raw.startswith("```", tick):
        return "a backtick inside hides the block"
    return "does not end with } before the next fence"
