"""Values that begin at an opening bracket, or lack theirs: in prose, on lines of their own, or the whole response."""

from __future__ import annotations

import re

from webapp.parsing import decode, escaped, plausible, program_code
from webapp.parsing.calls import pythonic
from webapp.parsing.edit import NotJson
from webapp.parsing.finder import MARKED, PROSE, QUOTED, WEAK, Finder
from webapp.parsing.machine.state import Frame, Machine
from webapp.parsing.machine.tokens import balanced_end, place_of_opener
from webapp.parsing.patterns import later
from webapp.parsing.strategies import Strategy, called, finds

_observation = later(r"(?:\A|\n)[ \t>*]*+(?:Observation|Tool (?:output|result))\**\s*+:\**\s*+\Z")
_empty = later(r"[\[{]\s{0,200}+[\]}]|\[[-\d.,\seE+]{0,500}+\]")


@finds("balanced", r"[{\[｛﹛［]", "{[｛﹛［", order=90)
def balanced(finder: Finder, match: re.Match[str]) -> int:
    """An object or array that begins at an opening bracket in prose."""
    raw, at = finder.tracer.raw, match.start()
    tier = MARKED if finder.meant else PROSE
    if finder.skips > 0 and (listing := escaped.listed(raw, at, finder.end)):
        finder.skips -= listing.span.end - at
        return finder.unescaped(listing, tier)
    if raw[at] == "{" and (opening := pythonic.opening_before(raw, at)):
        return called.take_braces(finder, opening)
    if finder.mark.kind:
        tier = finder.tier(at, tier)
    reason = plausible.why_not(raw, at, finder.end, lenient=finder.lenient(at, tier))
    if reason:
        if any(word in reason for word in _IN_CODE) and _is_meant(finder, at):
            return finder.consider("balanced", at, None, PROSE)
        if at != finder.mark.end or not reason.startswith("a subscript"):
            return _reject(finder, at, reason)
    if tier == PROSE and _observation.search(raw, max(0, at - 60), at):
        tier = QUOTED
    weak = _empty.match(raw, at, finder.end)
    if weak and tier == PROSE:
        tier = WEAK
    if tier == MARKED and not finder.meant:
        return finder.consider("tagged", at, lambda: _limits(finder, at), tier)
    last = finder.last_end()
    on_next_line = last > 0 and raw[last:at].strip(" \t\r,;") == "\n"
    return finder.consider("lines" if on_next_line else "balanced", at, None, tier)


def _limits(finder: Finder, at: int) -> list[int]:
    """Where a tag's value may end: at its closing tag, where no string may hold that: a token, or on its own line."""
    raw, until = finder.tracer.raw, finder.mark.until
    if until <= at:
        return [finder.end]
    tag = raw[until : raw.find(">", until)]
    is_apart = tag[1:2] in ("|", "｜") or raw[until - 1] == "\n"
    opening = raw.find(tag.replace("/", "") if tag[1:2] == "/" else tag[:2], until + 1, finder.end)
    stop = opening if opening > 0 else finder.end
    is_sure = is_apart and raw.find(tag, until + 1, stop) < 0 and not _closed.search(raw, until, stop)
    return [until - (raw[until - 1] == "\n")] if is_sure else [until, finder.end]


_closed = later(r"[\"']\s*+[}\],:]")


def _is_meant(finder: Finder, at: int) -> bool:
    """Whether what looks like code is the next of several values, or JSON that has but a label or a name before it."""
    raw, last = finder.tracer.raw, finder.last_end()
    if last > 0 and not raw[last:at].strip(", \t\r\n"):
        return True
    if not _declared.search(raw, max(0, at - 120), at):
        return False
    end = decode.read(raw, at)[0]
    return end > 0 and _statement_end.match(raw, end) is not None


_IN_CODE = ("assigned", "expression", "of a call", "YAML")
_declared = later(
    r"(?:\A|\A[^`]{0,100}```\w{0,12}\n|:\n\n)(?:\s*+(?:export\s+)?(?:const|let|var|default)\b[^\n{}\[\]\"'!]{0,60}"
    r"|[A-Z][\w .,:*=>$-]{0,60}|\w{1,40}(?:\(\n\s{0,60}|:\n[ ]{1,60}[\w.-]{1,40}: ))\Z|:\n\n\w{1,40} = \Z"
)
_statement_end = later(r"\s*\)?\s*;?\s*(?:```\s*)?\Z")


def _reject(finder: Finder, at: int, reason: str) -> int:
    """Pass over a bracket that begins no JSON; over all of what it holds, where that is a piece of program."""
    raw = finder.tracer.raw
    if "placeholder or" not in reason and any(word in reason for word in _OF_A_PROGRAM):
        end = finder.skip(at, finder.end)
        if end > at:
            return finder.reject("balanced", at, end, reason)
    end = at + 1
    while end < finder.end and raw[end] == raw[at] and "LaTeX" not in reason:
        end += 1
    return finder.reject("balanced", at, end, reason)


_OF_A_PROGRAM = ("program", "Python", "shell", "of a template", "YAML")


_TUPLE = (
    r"\A\s{0,50}+(?P<tool>(?!(?:print|len|str|dict|list|set|jsonify|format|(?:json|JSON|console)\.\w++)\()"
    r"[A-Za-z_][\w.]{0,80}+)?+\((?=(?P<first>\s*+)(?:[\"'\d(-][^()]{0,2000}\)\s*+\Z|\{|(?(tool)(?!)|\[)))"
)


@finds("parenthesized", _TUPLE, order=85)
def parenthesized(finder: Finder, match: re.Match[str]) -> int:
    """A Python tuple that is the whole response, or arguments of a call that is: ("a", "b"), f("a", {"b": 1})."""
    raw, first = finder.tracer.raw, match.end("first")
    note = match["tool"] and f"calls {match['tool']}"
    end = balanced_end(raw, first, finder.end) if raw[first] in "{[" else 0
    if note and not (_statement_end.match(raw, end) if end else "." not in note and _positional.match(raw, first)):
        return first
    if end and not (raw[end : end + 50].lstrip().startswith(",") and raw[finder.whole.end - 1] == ")"):
        return finder.consider("balanced", first, None, PROSE, note) if note else first  # brackets round one value
    return finder.consider("parenthesized", match.end() - 1, None, MARKED if note else WEAK, note)


_positional = later(r"[^()=]{0,2000}[}\]]\s*+\)\s*+\Z")


@finds("escaped", escaped.OPENING, "{[", order=30)
def inside_string(finder: Finder, match: re.Match[str]) -> int:
    """A value inside an escaped string: its quotes have backslashes before them."""
    raw, at = finder.tracer.raw, match.start()
    if finder.skips < 0:
        return finder.reject("escaped", at, match.end(), "an escaped quote follows, and the budget is used up")
    heavy = escaped.layer_at(raw, at, finder.end, match.end() - 3) if match[0].endswith('\\\\"') else None
    layer = heavy or escaped.peel(raw, at, finder.end)
    finder.skips -= layer.span.end - at
    if reason := program_code.code(program_code.line_before(raw, at), lenient=False):
        return finder.reject("escaped", at, layer.span.end, reason)
    return finder.unescaped(layer, finder.tier(at, MARKED if finder.meant else PROSE))


_NO_BRACKET = "a key and a value that no bracket opens or closes"
_MEMBER = r'"(?:[^"\n\\{}\[\]]|\\u\w{4}){1,80}+"[ \t]{0,20}+:\s{0,20}+(?=["\d\[{tfn-])'
_FIRST = r"\A\s{0,20}'[^'\n\\{}\[\]]{1,80}'[ \t]{0,20}:\s{0,20}(?=['\"\d\[{tfnTFN-])"
"""In single quotes only where the response begins: in prose such a key is a quotation."""


@finds("unopened", f"{_MEMBER}|{_FIRST}", order=80, hint=_MEMBER)
def unopened(finder: Finder, match: re.Match[str]) -> int:
    """An object without its opening brace, as prefilled answers have: keys and values, and a brace that closes them."""
    raw, at = finder.tracer.raw, match.start()
    before = raw[max(0, at - 200) : at].rstrip()[-1:]
    if finder.tracer.offered or (before and before in ",{[}]") or (finder.accepted and before == ":"):
        return finder.reject("unopened", at, match.end(), "a key behind a value that ended or failed before it")
    opener = max((start for start in finder.loose.values() if start < at), default=-1)
    if opener >= 0 and not any(closer in raw[opener:at] for closer in "}]"):
        return finder.reject("unopened", at, match.end(), "a key in brackets that are no JSON")
    return _members(finder, at, match.end())


def _members(finder: Finder, start: int, key_end: int) -> int:
    """Try the members that begin at `start` as an object that lacks its brace; where it ends."""
    from_start = start <= finder.whole.start
    if not from_start and finder.tracer.raw.find("}", key_end, finder.end) < 0:
        return finder.reject("unopened", start, key_end, _NO_BRACKET)
    if finder.skips < 0 or finder.look < 0:
        finder.tracer.exhausted = True
        return finder.reject("unopened", start, key_end, "a key that no bracket opens, past the limit of the search")
    start = place_of_opener(finder.tracer.raw, start)
    machine = Machine(finder.tracer.raw, start, finder.end, look=finder.look, final=False)
    machine.frames.append(Frame("{", start - 1, as_kind="{"))
    machine.patch("missing_opener", start, start, "{")
    machine.state = "k"
    try:
        finder.run(machine)
    except NotJson as refused:
        finder.skips -= max(0, refused.at - start)
        return finder.reject("unopened", start, key_end, f"a key that no bracket opens: {refused}")
    closed = finder.tracer.raw[machine.at - 1] == "}" and machine.patches[-1].repair != "missing_closer"
    if not closed and not (from_start and machine.at >= finder.whole.end):
        finder.skips -= machine.at - start
        finder.reject("unopened", start, key_end, _NO_BRACKET)
        return key_end
    return finder.conclude("unopened", start, machine, finder.tier(start), None)


lines = Strategy("lines", help="JSON lines: one value a line, several lines in a row.")
whole = Strategy("whole", help="The whole response, as it is.")
plugins = (balanced, lines, whole, parenthesized, inside_string, unopened)
