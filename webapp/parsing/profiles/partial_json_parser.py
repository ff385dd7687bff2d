"""partial-json-parser (Python): what is open where the text ends is closed, and json.loads."""

from __future__ import annotations

import re

from webapp.parsing.decode import nesting
from webapp.parsing.edit import Edit
from webapp.parsing.engine import Tracer
from webapp.parsing.profile_groups import LIBRARIES
from webapp.parsing.profiles._about import described, restated
from webapp.parsing.profiles._cutting import choose_if_ok, whole
from webapp.parsing.span import Span

DEEPEST = 300  # levels; the library reads as far as Python's stack goes
_MARK = re.compile(r'["\[\]{}]')
_CLOSERS = {"[": "]", "{": "}"}
_WORDS = ("null", "true", "false", "Infinity", "-Infinity", "NaN")
_SIGNS = ".-+eE"
_NUMBER = re.compile(r"[-0-9][0-9.\-+eE]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+', re.DOTALL)
_CUT_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*+(\\(?:u.{0,3}|U.{0,7}|x.?))\Z", re.DOTALL)
_BLANK = re.compile(r"\s*+")
Completed = tuple[int, str | None]
"""the end of what is kept, and what is put behind it; None where it is whole"""


class _Cut(Exception):
    """The text ends where nothing can be completed; with words, where it is no JSON."""


def _any(text: str, at: int, *, top: bool = False) -> Completed:
    """The value that begins at a place."""
    char, rest = text[at : at + 1], text[at : at + 10]
    if char == '"':
        return _string(text, at)
    if char in _CLOSERS:
        return _members(text, at)
    if (char.isdigit() and char.isascii()) or (char == "-" and rest[1:2] not in ("", "I")):
        return _number(text, at, top=top)
    for word in _WORDS:
        if rest.startswith(word):
            return at + len(word), None
        if rest and rest != "-" and word.startswith(rest):
            return at, word
    raise _Cut(f"Unexpected character {char}" if char and rest != "-" else "")


def _number(text: str, at: int, *, top: bool) -> Completed:
    match = _NUMBER.match(text, at)
    assert match is not None
    digits = match[0].rstrip(_SIGNS)
    if not digits:  # the library goes on from the text's end
        if len(text.rstrip(_SIGNS)) <= at:
            raise _Cut
        return at - len(text) + len(text.rstrip(_SIGNS)), ""
    open_ = digits != match[0] or (match.end() == len(text) and not top)
    return at + len(digits), "" if open_ else None


def _string(text: str, at: int) -> Completed:
    match = _STRING.match(text, at)
    assert match is not None
    if text.startswith('"', match.end()):
        return match.end() + 1, None
    cut = _CUT_ESCAPE.search(text, max(at, match.end() - 9), match.end())
    return (cut.start(1) if cut else match.end()), '"'


def _members(text: str, at: int) -> Completed:
    """A list, or an object; one whose next member is cut off ends behind the one before."""
    closer = _CLOSERS[text[at]]
    sound = at = at + 1
    try:
        while True:
            at = _blank(text, at)
            if text[at : at + 1] == closer:
                return at + 1, None
            if closer == "}":
                at = _key(text, at)
            end, tail = _any(text, at)
            if tail is not None:
                return end, tail + closer
            sound = at = end
            at = _blank(text, at)
            if text[at : at + 1] not in (",", closer):
                raise _Cut("" if at >= len(text) else f"Expected ',' or '{closer}', got {text[at]}")
            at += text[at] == ","
    except _Cut as cut:
        if str(cut):
            raise
        return sound, closer


def _key(text: str, at: int) -> int:
    """Where the value of a key begins."""
    if text[at : at + 1] != '"':
        raise _Cut("" if at >= len(text) else "AssertionError: a key is no string")
    end, tail = _string(text, at)
    end = _blank(text, end)
    if tail is not None or end >= len(text):
        raise _Cut
    if text[end] != ":":
        raise _Cut(f"Expected ':', got {text[end]}")
    return _blank(text, end + 1)


def _blank(text: str, at: int) -> int:
    return _BLANK.match(text, at).end()  # type: ignore[union-attr]  # always matches


def _fixed(text: str, at: int, opener: str = "", *, top: bool = False) -> tuple[int, str, bool]:
    """The end of what is kept from `at` on, what is put behind it, and whether nothing is; raises `_Cut`.

    With `opener` the rest is read as if it stood behind one, which is not counted. White space before it is not
    counted either, by which as much of its end is lost, as in the library.
    """
    rest = opener + text[at:]
    end, tail = _any(rest.strip(), 0, top=top)
    return at + end - len(opener), tail or "", not (rest[len(opener) : end] + (tail or "")[:-1].strip())


def _open(text: str) -> tuple[list[tuple[int, str]], int, int, int]:
    """The brackets that are open, the last mark, and where the last string begins and ends; raises `_Cut`."""
    stack: list[tuple[int, str]] = []
    last = begins = ends = -1
    inside = False
    for match in _MARK.finditer(text):
        last, char = match.start(), match[0]
        if char == '"' and not inside:
            inside, begins = True, last
        elif char == '"':
            behind = text[:last] if last < 200 else text[last - 200 : last]
            if (len(behind) - len(behind.rstrip("\\"))) % 2 == 0:
                inside, ends = False, last
        elif not inside and char in _CLOSERS:
            stack.append((last, char))
        elif not inside and (not stack or _CLOSERS[stack.pop()[1]] != char):
            raise _Cut("a closer does not match")
    return stack, last, begins, ends


def _in_string(text: str, opened: tuple[int, str], begins: int, ends: int, closers: str) -> tuple[int, str]:
    """As `completion`, of a text that ends in a string: a key goes, with the comma before it."""
    start, opener = max(ends, opened[0]), opened[1]
    comma = text.rfind(",", start + 1, begins)
    if opener == "{" and comma >= 0:
        _, tail, nothing = _fixed(text, comma + 1, opener)
        if not nothing:
            raise _Cut("a comma is lost")
        return comma, tail + closers[1:]
    if opener == "{" and ":" not in text[start + 1 : begins]:
        return begins, closers
    end, tail, _ = _fixed(text, begins)
    return end, tail + closers


def completion(text: str) -> tuple[int, str]:
    """How much of the text is kept, and what is put behind it; raises `_Cut`. Linear."""
    first = _MARK.search(text)
    if not first or first[0] == '"':
        return _fixed(text, 0, top=True)[:2]
    stack, last, begins, ends = _open(text)
    closers = "".join(_CLOSERS[char] for _, char in reversed(stack))
    if not stack:
        return len(text), ""
    (opened, opener), outer = stack[-1], closers[1:]

    def behind(comma: int, closing: str = outer) -> tuple[int, str]:
        end, tail, nothing = _fixed(text, comma + 1, opener)
        return (comma, tail + outer) if nothing else (end, tail + closing)

    if ends < begins:
        return _in_string(text, stack[-1], begins, ends, closers)
    comma = text.rfind(",", max(ends, last) + 1)
    if comma >= 0 and not text[comma + 1 :].strip():
        return comma, closers
    if comma >= 0:
        if opener != "[":
            raise _Cut("AssertionError: no list")
        return behind(comma)
    if text[last] in "]}":
        if text[last + 1 :].strip():
            raise _Cut("AssertionError: text behind a closer")
        return len(text), closers
    if text[last] in _CLOSERS:
        end, tail, _ = _fixed(text, last)
        return end, tail + outer
    if opener == "[":
        return len(text), closers
    colon, comma = text.rfind(":", ends), text.rfind(",", opened + 1, begins)
    if comma < 0:
        end, tail, _ = _fixed(text, opened)
        return end, tail + outer
    if colon < 0:
        return (len(text), closers) if text.rfind(":", comma + 1, begins) >= 0 else behind(comma, closers)
    if colon < comma:
        raise _Cut("AssertionError: no key")
    return behind(comma)


@described("partial-json-parser", LIBRARIES, version=restated("0.2.1.1.post7"))
def plugin(tracer: Tracer) -> None:
    """partial-json-parser (Python): what is open where the text ends is closed, and json.loads.

    1. A string at the cut end is closed, an escape in it that is cut off goes; a number loses a sign, dot or e at its
    end; true, false, null, NaN and Infinity are completed. 2. A key without a value and a comma at the end go, lists
    and objects are closed. 3. json.loads. Text before the JSON is an error; behind it too, but for strings and plain
    values.

    Source: partial-json-parser 0.2.1.1.post7, partial_json_parser/core/myelin.py, fix_fast with Allow.ALL. Nested more
    than 300 deep is not read.
    """
    raw, everything = tracer.raw, whole(tracer.raw)
    if nesting(raw)[0] > DEEPEST:
        tracer.exhausted = True
        tracer.fail("completed", everything, f"stopped: nested more than {DEEPEST} deep")
        return
    try:
        end, tail = completion(raw)
    except _Cut as cut:
        tracer.fail("completed", everything, str(cut) or "nothing of it can be completed")
        return
    end = max(end + len(raw), 0) if end < 0 else end  # as a slice counts
    rest = raw[end:]
    edits = [Edit("truncation" if rest else "missing_closer", Span(end, len(raw)), rest, tail)] if rest or tail else []
    tracer.truncated = choose_if_ok(tracer, tracer.attempt("completed", everything, edits)) and bool(tail)
