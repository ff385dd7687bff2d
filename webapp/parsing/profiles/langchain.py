"""LangChain's `parse_json_markdown`: the whole response, else the text after the first ```; a cut end is completed."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

from webapp.parsing import verdicts
from webapp.parsing.edit import Edit, Span, stripped
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import LIBRARIES, described, restated
from webapp.parsing.profiles._steps import choose_if_ok, whole

_STRIPPED = " \n\r\t`"
_FENCE = re.compile(r"```(?:json)?(.*)", re.DOTALL)
_ACTION_INPUT = re.compile(r'"action_input":\s*"(.*?)"', re.DOTALL)
_IN_ACTION_INPUT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
WORK = 5_000_000  # characters decoded while dropping from the end; the library itself has no limit
_CLOSERS = {"{": "}", "[": "]"}
_MARK = re.compile(r'["\\\n{}\[\]]')


@described("langchain", LIBRARIES, version=restated("1.8.4"))
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
    escapes = _action_input(raw, span)
    first = tracer.attempt(strategy, span, escapes, strict=False, offers=bool(re.search(r"[\[{]", span.of(raw))))
    if choose_if_ok(tracer, first):
        return True
    if first.error and first.error.type != "JSONDecodeError":
        return True  # RecursionError and the like escape from all of it
    try:
        completed = _Completion(raw, span, escapes)
    except ValueError:
        tracer.fail(strategy, span, "a closer does not match its opener: None is returned, as if that were the value")
        return True
    return _dropping(tracer, strategy, completed)


def _action_input(raw: str, span: Span) -> list[Edit]:
    """Line feeds, returns, tabs and bare quotes in the string behind "action_input", escaped as the library does."""
    edits: list[Edit] = []
    for match in _ACTION_INPUT.finditer(raw, *span):
        start, end = match.span(1)
        edits += [_escaped(raw, at) for at in range(start, end) if raw[at] in _IN_ACTION_INPUT]
    return edits


def _escaped(raw: str, at: int) -> Edit:
    return Edit("control_character", Span(at, at + 1), raw[at], _IN_ACTION_INPUT[raw[at]])


class _Completion:
    """The response's characters as the library rewrites them, one by one, and the closers that it puts behind.

    An escape in "action_input" is two characters, which may be dropped one by one; a line feed in any other string is
    one of two code points.
    """

    def __init__(self, raw: str, span: Span, escapes: list[Edit]) -> None:
        """Raises `ValueError` where a closer does not match."""
        self.span, self.changes = span, {edit.span.start: edit for edit in escapes}
        stack: list[str] = []
        doubled, inside, behind_backslash = set(self.changes), False, -1
        for match in _MARK.finditer(raw, *span):
            at, char = match.start(), match[0]
            if inside:
                if at == behind_backslash:
                    continue
                if char == '"':
                    inside = False
                elif char == "\\":
                    behind_backslash = at + 1
                elif char == "\n":
                    self.changes.setdefault(at, _escaped(raw, at))
            elif char == '"':
                inside = True
            elif char in _CLOSERS:
                stack.append(_CLOSERS[char])
            elif char in "}]" and (not stack or stack.pop() != char):
                raise ValueError
        self.closers, self.quoted = "".join(reversed(stack)), inside
        places = range(span.start, span.end - (inside and behind_backslash == span.end))
        self.places = [at for at in places for _ in range(1 + (at in doubled))]
        """where each character stands"""
        self.ends = [*accumulate(1 + (at in self.changes and at not in doubled) for at in self.places)]
        """how many code points of the rewritten text end with it"""
        self.count = len(self.places) + inside

    def edits(self, raw: str, count: int) -> list[Edit]:
        """What makes the first `count` characters and the closers of the span."""
        quoted = self.quoted and count == self.count
        last = count - quoted
        end = self.places[last - 1] + 1 if last else self.span.start
        edits = [edit for at, edit in sorted(self.changes.items()) if at < end]
        if self.places[last : last + 1] == [end - 1]:  # of the last escape its backslash alone
            edits[-1] = edits[-1]._replace(new="\\")
        tail = ('"' if quoted else "") + self.closers
        rest = raw[end : self.span.end]
        if rest:
            edits.append(Edit("truncation", Span(end, self.span.end), rest, tail))
        elif tail:
            edits.append(Edit("missing_closer", Span(self.span.end, self.span.end), "", tail))
        return edits

    def before(self, at: int, count: int) -> int:
        """How many of the first `count` characters end at or before this place in the rewritten text."""
        return bisect_right(self.ends, at, hi=min(count, len(self.ends)))


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


def _dropping(tracer: Tracer, strategy: str, completed: _Completion) -> bool:
    """Decode, and where that fails cut at the place of the error and try again, until something decodes."""
    count, tries = completed.count, 0
    while count:
        tries += 1
        if tries * completed.count > WORK:
            tracer.exhausted = True
            tracer.fail(strategy, completed.span, f"stopped after {tries:,} tries at dropping characters from the end")
            return True
        edits = completed.edits(tracer.raw, count)
        probe = tracer.probe(completed.span, edits, strict=False)
        if probe is None:
            note = f"after {tries:,} tries" if tries > 1 else None
            tracer.truncated = True
            tracer.choose(tracer.attempt(strategy, *_cut(completed.span, edits), strict=False, note=note))
            return True
        if probe.type != "JSONDecodeError":
            tracer.fail(strategy, completed.span, f"{probe.wording}: the library lets this error escape")
            return True
        cut = completed.before(probe.at, count)
        count = cut if cut < count else count - 1
    reason = f"nothing decoded when characters were dropped from the end ({tries:,} tries)"
    tracer.reject(strategy, completed.span, reason)
    return False
