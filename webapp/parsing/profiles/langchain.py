"""LangChain's `parse_json_markdown`: the whole response, else the text after the first ```; a cut end is completed."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right

from webapp.parsing import verdicts
from webapp.parsing.edit import Edit
from webapp.parsing.engine import Tracer
from webapp.parsing.profile_groups import LIBRARIES
from webapp.parsing.profiles._about import described, restated
from webapp.parsing.profiles._cutting import choose_if_ok, whole
from webapp.parsing.span import Span, stripped

_STRIPPED = " \n\r\t`"
_FENCE = re.compile(r"```(?:json)?(.*)", re.DOTALL)
_ACTION_INPUT = re.compile(r'"action_input":\s*"(.*?)"', re.DOTALL)
_IN_ACTION_INPUT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
WORK = 5_000_000  # characters decoded while dropping from the end; the library itself has no limit
_CLOSERS = {"{": "}", "[": "]"}
_MARK = re.compile(r'["\\\n{}\[\]]')


@described("langchain", LIBRARIES, version=restated("1.8.2"))
def plugin(tracer: Tracer) -> None:
    """LangChain's `parse_json_markdown`: the whole response, else the text after the first ```; a cut end is completed.

    1. Cuts white space and backticks off both ends, escapes raw newlines and tabs in the string behind "action_input",
    and decodes with strict=False. 2. If that fails, escapes newlines inside strings, closes an open string and what is
    still open, and decodes; then drops characters from the end until something decodes: a value may lose its end
    silently. 3. If a closing bracket does not match it gives None, which no caller sees as an error. 4. If nothing
    decodes, all of it again over what follows the first ``` or ```json.

    Source: langchain-core 1.8.2, langchain_core/utils/json.py, parse_json_markdown.
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
    completed = _Completion.of(raw, span, escapes)
    if completed is None:
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
    """The response's characters as the library rewrites them, and the closers that it puts behind.

    An escape in "action_input" makes two characters of one, which may be dropped one by one; a line feed in any other
    string becomes one of two code points. Only these changes are stored: all else stands in the response.
    """

    def __init__(
        self, span: Span, escapes: list[Edit], feeds: list[Edit], closers: str, end: int, quoted: bool
    ) -> None:
        self.span, self.closers, self.quoted = span, closers, quoted
        self.changes = sorted([*escapes, *feeds], key=lambda edit: edit.span.start)
        doubled = {edit.span.start for edit in escapes}
        self.firsts: list[int] = []
        """the number of each change's first character …"""
        self.seconds: list[int] = []
        """… of the second one of each escape …"""
        self.feeds: list[int] = []
        """… and of each line feed"""
        for edit in self.changes:
            first = edit.span.start - span.start + len(self.seconds)
            self.firsts.append(first)
            if edit.span.start in doubled:
                self.seconds.append(first + 1)
            else:
                self.feeds.append(first)
        self.count = end - span.start + len(self.seconds) + quoted

    @classmethod
    def of(cls, raw: str, span: Span, escapes: list[Edit]) -> _Completion | None:
        """None where a closer does not match."""
        changed = {edit.span.start for edit in escapes}
        feeds: list[Edit] = []
        stack: list[str] = []
        inside, behind_backslash = False, -1
        for match in _MARK.finditer(raw, *span):
            at, char = match.start(), match[0]
            if inside:
                if at == behind_backslash:
                    continue
                if char == '"':
                    inside = False
                elif char == "\\":
                    behind_backslash = at + 1
                elif char == "\n" and at not in changed:
                    feeds.append(_escaped(raw, at))
            elif char == '"':
                inside = True
            elif char in _CLOSERS:
                stack.append(_CLOSERS[char])
            elif char in "}]" and (not stack or stack.pop() != char):
                return None
        end = span.end - (inside and behind_backslash == span.end)
        return cls(span, escapes, feeds, "".join(reversed(stack)), end, inside)

    def edits(self, raw: str, count: int) -> list[Edit]:
        """What makes the first `count` characters and the closers of the span."""
        edits = self.changes[: bisect_left(self.firsts, count)]
        quoted = self.quoted and count == self.count
        last = count - quoted
        doubles = bisect_left(self.seconds, last)
        if self.seconds[doubles : doubles + 1] == [last]:  # of the last escape its backslash alone
            edits[-1] = edits[-1]._replace(new="\\")
        end = self.span.start + last - doubles
        tail = ('"' if quoted else "") + self.closers
        rest = raw[end : self.span.end]
        if rest:
            edits.append(Edit("truncation", Span(end, self.span.end), rest, tail))
        elif tail:
            edits.append(Edit("missing_closer", Span(self.span.end, self.span.end), "", tail))
        return edits

    def before(self, at: int, count: int) -> int:
        """How many of the first `count` characters end at or before this place in the rewritten text."""
        return bisect_right(range(count), at, key=lambda number: number + 1 + bisect_right(self.feeds, number))


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
