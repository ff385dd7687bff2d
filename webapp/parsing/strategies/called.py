"""Tool calls that are not JSON as written (in XML, Python's notation, Gemma's braces), and tags round values."""

from __future__ import annotations

import re

from webapp.parsing.calls import pythonic, tags
from webapp.parsing.calls.tags import Mark, WrittenCall
from webapp.parsing.edit import Span
from webapp.parsing.finder import MARKED, PROSE, QUOTED, Finder
from webapp.parsing.patterns import later
from webapp.parsing.program_code import line_before
from webapp.parsing.strategies import finds, scan_region

_quoted = later(r"""\w.*(?P<quote>[`"'])(?:<[^<>]{1,80}+>)*+\Z""")
_program = later(r"<[|｜]python(?:_tag)?[|｜]>\s*+(?![{\[])")
_behind = later(r"(?:</[^<>]{1,80}+>)*+")
_LIST = "the bracket round a list of calls"
_begin = later(r"\s*+(?P<list>\[)?+\s*+(?:print\(\s*+|call:)?(?=[A-Za-z_][\w.-]{0,80}+\()")
_braces = later(rf"\s*+{pythonic.BRACES_OPENING}")
_between = later(r"[\s,;)]*+")
_list_end = later(r"\s*+(?:,?\s*+(?P<closer>\])[ \t]*+(?=\n|\Z|<|\[)|\Z)")


def take_call(finder: Finder, call: WrittenCall, tier: int) -> int:
    """Record a call that is not JSON as written; where it ends."""
    raw, (start, end) = finder.tracer.raw, call.span
    quoted, behind = _quoted.search(line_before(raw, start)), _behind.match(raw, end)
    if quoted and behind and raw.startswith(quoted["quote"], behind.end()):
        return finder.reject("called", start, end, "a call that a sentence or program code speaks of")
    if call.problem:
        finder.tracer.fail("called", call.span, f"the call of {call.name} cannot be read: {call.problem}")
        return call.span.end
    note = f"not JSON as written; calls {call.name}"
    attempt = finder.tracer.attempt("called", call.span, call.edits, note=note, finite=True)
    if call.truncated:
        attempt = finder.tracer.amend(attempt, note=f"{note}; cut off")
        finder.cut.add(finder.tracer.index(attempt))
    finder.accept(attempt, QUOTED if finder.tier(call.span.start) == QUOTED else tier)
    return call.span.end


def take_braces(finder: Finder, match: re.Match[str]) -> int:
    """Take the call in Gemma's notation whose name `match` holds; one that cannot be read is passed over as a whole."""
    if finder.skips < 0:
        finder.tracer.exhausted = True
        return finder.reject("called", match.start(), match.end("braced"), "a call past the limit of the search")
    call = pythonic.read_braces(finder.tracer.raw, match, finder.end)
    if call.problem:
        is_open = finder.tracer.raw[call.span.end : call.span.end + 9].lstrip()[:1] in ("'", '"', "<")
        finder.skips -= (finder.end - call.span.end) * is_open  # a string without its end was looked through
        until = finder.skip(match.end("braced"), finder.end)
        call = call._replace(span=Span(call.span.start, max(call.span.end, until)))
    return take_call(finder, call, MARKED)


@finds("called", rf"{tags.OPENING}|\[\s*+(?={pythonic.OPENING})", "<[", order=15)
def written(finder: Finder, match: re.Match[str]) -> int:
    """A tool call that is not JSON as written: in XML, in Python's notation, or in Gemma's braces."""
    raw = finder.tracer.raw
    if raw[match.start()] == "[":
        return _take_list(finder, match.start())
    return take_call(finder, tags.read_xml(raw, match, finder.end), MARKED)


def _take_list(finder: Finder, start: int) -> int:
    """A list of calls that has its lines to itself, or stands behind a tag or a sentence."""
    raw = finder.tracer.raw
    before = line_before(raw, start).strip()
    if before and before[-1] not in ">]:.!?":
        return finder.reject("called", start, start + 1, "a call in program code")
    at, calls = start + 1, []
    while begin := _opening.match(raw, at, finder.end):
        calls.append(pythonic.read_call(raw, begin.end(), finder.end))
        if calls[-1].problem:
            break
        at = calls[-1].span.end
        if not (comma := _comma.match(raw, at, finder.end)):
            break
        at = comma.end()
    ends = _list_end.match(raw, at, finder.end)
    if not calls or calls[-1].problem or not ends:
        reason = calls[-1].problem if calls and calls[-1].problem else "the list of calls does not end as one"
        return finder.reject("called", start, max(at, start + 1), reason or "")
    finder.tracer.reject("called", Span(start, start + 1), _LIST)
    calls[-1] = calls[-1]._replace(truncated=not ends["closer"])
    for call in calls:
        take_call(finder, call, MARKED if finder.lenient(start) or finder.mark.kind == "call" else PROSE)
    return ends.end()


def take_calls(finder: Finder, at: int) -> int:
    """Take the calls in Python's notation, or the one in Gemma's, that begin at `at`; where they end, or 0."""
    raw, end = finder.tracer.raw, 0
    if match := _braces.match(raw, at, finder.end):
        return take_braces(finder, match)
    while begin := _begin.match(raw, at, finder.end):
        if begin["list"]:
            finder.tracer.reject("called", Span(*begin.span("list")), _LIST)
        call = pythonic.read_call(raw, begin.end(), finder.end)
        end = take_call(finder, call, MARKED)
        if call.problem:
            until = finder.mark.until
            line = raw.find("\n", end, finder.end)
            return max(end, until if until > 0 else line if line > 0 else finder.end)
        between = _between.match(raw, end, finder.end)
        at = between.end() if between else end
    return end


_opening = later(rf"\s*+(?={pythonic.OPENING})")
_comma = later(r"\s*+,")


FAR = 100_000
"""So far a closing tag is looked for."""


@finds("tagged", tags.TAG, "<[◁", order=20)
def tagged(finder: Finder, match: re.Match[str]) -> int:
    """Values behind a tag that says what they are: <tool_call>, <function=…>, [TOOL_CALLS], <answer>, <observation> …

    What it says is remembered; calls in Python's notation right behind it are taken here.
    """
    kind = tags.kind_of(match[0])
    if match[0] == tags.CDATA:
        return _take_plain(finder, match)
    if kind == tags.END:
        finder.mark = Mark()
    elif kind:
        end = _closing(finder, match)
        if (kind != tags.QUOTED or end > 0) and not _program.match(finder.tracer.raw, match.start()):
            finder.mark = Mark(kind, match[0].strip(), match.end(), end)
        if kind == tags.CALL:
            return take_calls(finder, match.end()) or match.end()
    return match.end()


def _closing(finder: Finder, match: re.Match[str]) -> int:
    """Where the closing tag stands, where it is near enough, else -1."""
    name = re.match(r"<(?:([\w:]+)|[|｜].*[|｜]>\Z)", match[0])
    closer = "]]>" if match[0] == tags.CDATA else "" if not name else f"</{name[1]}" if name[1] else match[0][:2]
    last = finder.closings.get(closer, 0) if closer else -1
    if -1 < last < match.end():  # else none stands between, or none at all
        last = finder.closings[closer] = finder.tracer.raw.find(closer, match.end())
    return last if last < min(finder.end, match.end() + FAR) else -1


def _take_plain(finder: Finder, match: re.Match[str]) -> int:
    """Look at a section of plain text in XML by itself: the brackets that close it close nothing of a value."""
    after, end = finder.end, _closing(finder, match)
    finder.reject("tagged", *match.span(), "the beginning of a section of plain text in XML")
    if end < 0:
        return match.end()
    scan_region(finder, match.end(), end)
    finder.end = after
    return max(finder.resume_at, end + len("]]>"))


_tag = later(tags.TAG)


@finds("unopened_call", tags.UNOPENED, "<", order=18)
def unopened_call(finder: Finder, match: re.Match[str]) -> int:
    """A tool call in XML that lacks its opening tag: read if a separate line names the tool, else reported.

    A single tag is one as others are.
    """
    raw, at = finder.tracer.raw, match.start()
    attempts = finder.tracer.attempts
    first = max((attempt.span.end for attempt in attempts[1:][-1:]), default=0)
    if call := tags.read_unopened(raw, first, at, finder.end):
        return take_call(finder, call, MARKED)
    tag = _tag.match(raw, at, finder.end)
    return tagged.take(finder, tag) if tag else match.end()


plugins = (written, tagged, unopened_call)
