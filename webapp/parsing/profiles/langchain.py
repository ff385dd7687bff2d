"""LangChain's `parse_json_markdown`: the whole response, else the text after the first ```; a cut end is completed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from webapp.parsing import verdicts
from webapp.parsing.decode import BRACKETS, CLOSERS
from webapp.parsing.edit import Edit, Span, places, stripped
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import LIBRARIES, described
from webapp.parsing.profiles._steps import choose_if_ok, completed, escapes, whole

_STRIPPED = " \n\r\t`"
_FENCE = re.compile(r"```(?:json)?(.*)", re.DOTALL)
_ACTION_INPUT = re.compile(r'"action_input":\s*"(.*?)"', re.DOTALL)
_IN_ACTION_INPUT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
WORK = 5_000_000  # characters decoded while dropping from the end; the library itself has no limit
_FEED = re.compile(r"\\.|\n", re.DOTALL)


@described("langchain", LIBRARIES)
def plugin(tracer: Tracer) -> None:
    """LangChain's `parse_json_markdown`: the whole response, else the text after the first ```; a cut end is completed.

    1. Cuts white space and backticks off both ends, escapes raw newlines and tabs in the string behind "action_input",
    and decodes with strict=False. 2. If that fails, escapes newlines inside strings, closes an open string and what is
    still open, and decodes; then drops characters from the end until something decodes: a value may lose its end
    silently. 3. If a closing bracket does not match it gives None, which no caller sees as an error. 4. If nothing
    decodes, all of it again over what follows the first ``` or ```json.

    Source: langchain-core 1.8.4, langchain_core/utils/json.py, parse_json_markdown.
    """
    if _parse(tracer, "whole", whole(tracer.raw)):
        return
    fence = _FENCE.search(tracer.raw)
    strategy, span = ("fenced", Span(*fence.span(1))) if fence else ("whole", whole(tracer.raw))
    _parse(tracer, strategy, span)


def _parse(tracer: Tracer, strategy: str, span: Span) -> bool:
    """One round; True where it ended in a value or in None, False where it raised."""
    raw = tracer.raw
    span = stripped(raw, *span, _STRIPPED)
    escaped = _action_input(raw, span)
    first = tracer.attempt(strategy, span, escaped, strict=False, offers=bool(re.search(r"[\[{]", span.of(raw))))
    if choose_if_ok(tracer, first):
        return True
    if escapes(first):
        return True
    try:
        completion = _completion(raw, span, escaped)
    except ValueError:
        tracer.fail(strategy, span, "a closer does not match its opener: None is returned, as if that were the value")
        return True
    return _dropping(tracer, strategy, completion)


def _action_input(raw: str, span: Span) -> list[Edit]:
    """Line feeds, returns, tabs and bare quotes in the string behind "action_input", escaped as the library does."""
    edits: list[Edit] = []
    for match in _ACTION_INPUT.finditer(raw, *span):
        start, end = match.span(1)
        edits += [_escaped(raw, at) for at in range(start, end) if raw[at] in _IN_ACTION_INPUT]
    return edits


def _escaped(raw: str, at: int) -> Edit:
    return Edit("control_character", Span(at, at + 1), raw[at], _IN_ACTION_INPUT[raw[at]])


@dataclass
class _Completion:
    """The text as the library completes it: what it escapes, where what it keeps ends, and what it puts there."""

    span: Span
    escapes: list[Edit]
    end: int
    quote: str
    closers: str

    def edits(self, raw: str) -> list[Edit]:
        kept = [edit for edit in self.escapes if edit.span.end <= self.end]
        return kept + completed(raw, self.end, self.quote + self.closers, self.span.end)

    def drop(self, raw: str, failed: int) -> None:
        """Keep what stands before the place where decoding failed, else a character less; the quote goes first."""
        place = min(self.end, places(self.span, self.edits(raw)).at(failed))
        self.end = place if place < self.end or self.quote else self.end - 1
        self.quote = ""


def _completion(raw: str, span: Span, escapes: list[Edit]) -> _Completion:
    """Line feeds in strings are escaped, an open string loses a backslash at its end and is closed, so is what is open.

    Raises `ValueError` where a closer does not match.
    """
    changes, stack, end, quote = {edit.span.start: edit for edit in escapes}, list[str](), span.end, ""
    for match in BRACKETS.finditer(raw, *span):
        if closer := CLOSERS.get(match[0]):
            stack.append(closer)
        elif match[0] not in ("}", "]"):
            for feed in _FEED.finditer(raw, *match.span()):
                if feed[0] == "\n":
                    changes.setdefault(feed.start(), _escaped(raw, feed.start()))
            if not match[1]:
                end, quote = match.end(), '"'
        elif not stack or stack.pop() != match[0]:
            raise ValueError
    return _Completion(span, [changes[at] for at in sorted(changes)], end, quote, "".join(reversed(stack)))


def _cut(span: Span, edits: list[Edit]) -> tuple[Span, list[Edit]]:
    """Other text that was dropped from the end is no repair: the span ends before it. Closers and commas are one."""
    last = edits[-1] if edits else None
    if last is None or last.repair != "truncation" or not last.old.startswith(last.new):
        return span, edits
    end = last.span.start + len(last.new)
    dropped = Edit("truncation", Span(end, last.span.end), last.old[len(last.new) :], "")
    if dropped.old.strip(verdicts.SURPLUS):
        return Span(span.start, end), edits[:-1]
    return span, [*edits[:-1], dropped]


def _dropping(tracer: Tracer, strategy: str, completion: _Completion) -> bool:
    """Decode, and where that fails cut at the place of the error and try again, until something decodes."""
    span, tries = completion.span, 0
    while completion.end > span.start:
        tries += 1
        if tries * (span.end - span.start) > WORK:
            tracer.exhausted = True
            tracer.fail(strategy, span, f"stopped after {tries:,} tries at dropping characters from the end")
            return True
        edits = completion.edits(tracer.raw)
        probe = tracer.probe(span, edits, strict=False)
        if probe is None:
            note = f"after {tries:,} tries" if tries > 1 else None
            tracer.truncated = True
            tracer.choose(tracer.attempt(strategy, *_cut(span, edits), strict=False, note=note))
            return True
        if probe.type != "JSONDecodeError":
            tracer.fail(strategy, span, f"{probe.wording}: the library lets this error escape")
            return True
        completion.drop(tracer.raw, probe.at)
    reason = f"nothing decoded when characters were dropped from the end ({tries:,} tries)"
    tracer.reject(strategy, span, reason)
    return False
