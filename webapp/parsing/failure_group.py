"""Failure groups: a key that failures share which the same repairs mend, in the same place, in the same surroundings.

    v1|trailing comma, single quotes|fenced|in prose
    what mends it (`fencepost`'s repairs) | where the value stands | what stands round it

No model and no state: the same two traces give the same group in any order, on any machine. What a value holds (texts,
numbers, names) is not part of the key; the JSON path of the first edit and the tokens round it are facets inside the
group. Linear in the length of the response. A key begins with the version of its algorithm.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Sequence
from typing import NamedTuple

from webapp.parsing.trace import Attempt, Trace
from webapp.plugins import defect

VERSION = "v1"
LONGEST_KEY = 240
"""code points; a key that is longer is cut, and keeps its beginning"""
_MOST_REPAIRS = 6
_WIDTH = 24
"""code points on each side of an edit whose tokens are told"""
_MOST_WALKED = 50_000
"""code points of a value that are walked for the path of its first edit"""
_CUT = frozenset(
    (
        *("missing_closer", "missing_quote", "truncation", "cut_literal", "cut_number"),
        *("missing_value", "trailing_comma", "doubled_comma"),
    )
)
"""repairs that a text which ends too soon needs anyway: together they are "cut off" """
_BROKEN = frozenset(
    name
    for name in dir(builtins)
    if name.endswith("Error") and name not in ("ValueError", "SyntaxError", "RuntimeError", "EOFError")
)
"""exceptions that no parser raises to say that there is no JSON"""
_EVERYWHERE = frozenset(("balanced", "whole"))
"""strategies that say nothing of the place: a title leaves them out"""
NO_CANDIDATE = "no JSON: nothing offered itself"
"""in keys alone, which are stored and linked to; `_SAID` has the words for people"""
_SAID = {NO_CANDIDATE: "no JSON: the text contains no candidate"}

_two_words = re.compile(r"\W*+\w++\W++\w")
_fence = re.compile(r"[ \t>]*+(?:`{3,}+|~{3,}+)[^\n`]*+\s*+\Z")
_token = re.compile(r'"(?:[^"\\\n]|\\.)*+"|[^\W\d]\w*+|-?\d[\d.eE+-]*+|\s++|.', re.DOTALL)
_structure = re.compile(
    r'"(?P<double>(?:[^"\\]|\\.)*+)(?P<closed>"?)|(?<!\w)\'(?P<single>(?:[^\'\\\n]|\\.)*+)(?P<shut>\'?)'
    r"|(?P<word>[^\W\d][\w.-]*+)|[{}\[\]:=,]",
    re.DOTALL,
)
_name = re.compile(r"^\{\$?[^\s…]*…")
_quoted = re.compile(r"'[^'\n]*+'|\"[^\"\n]*+\"|`[^`\n]*+`")
_number = re.compile(r"[-+]?\d[\d.,_]*+")
_plain_key = re.compile(r"[A-Za-z_][\w.-]{0,39}\Z", re.ASCII)


class FailureGroup(NamedTuple):
    """`key` names the group, `title` is its words; `path` and `tokens` are of the first edit, None where there is none.

    `path` is like `$.items.*`, of a longer one its last three steps (`$..code.items.*`), digits in keys as 0; `tokens`
    are like `"s"▲"s":`.
    """

    key: str
    title: str
    path: str | None
    tokens: str | None


def group(raw: str, failed: Trace, ours: Trace) -> FailureGroup | None:
    """The group of a response that a profile `failed` to read, from what `fencepost` made of it (`ours`).

    None where `failed` is no failure: a value was read, there was no candidate, or it was not run.
    Never raises on traces of `raw`.
    """
    if failed.verdict != "failed":
        return None
    if cause := _of_the_parser_itself(failed.attempts[-1:]):
        return FailureGroup(f"{VERSION}|{cause}", cause, None, None)
    chosen = [ours.attempts[index] for index in ours.chosen]
    if not chosen:
        return _unreadable(ours)
    edited = next((attempt for attempt in chosen if attempt.edits), None)
    place = " + ".join(dict.fromkeys(attempt.strategy for attempt in chosen))
    around = _surroundings(raw, chosen[0].span.start, chosen[-1].span.end)
    key = f"{VERSION}|{_defect(failed, ours, chosen)}|{place}|{around}"[:LONGEST_KEY]
    if edited is None:
        return FailureGroup(key, title(key), None, None)
    at = edited.edits[0].span.start
    return FailureGroup(key, title(key), _path(raw, edited.span.start, at), _tokens(raw, at))


def _of_the_parser_itself(last: Sequence[Attempt]) -> str | None:
    """That somebody's own parser hung, died, broke in its own code or gave no JSON, whatever the text; else None."""
    for attempt in last:
        kind, _, words = (attempt.reason or "").partition(": ")
        if attempt.strategy == "stopped":
            return f"the parser {words.partition(';')[0]}"
        if attempt.strategy == "died":
            return f"the parser died: {words}"
        if attempt.strategy == "raised" and kind in _BROKEN:
            return f"the parser raised {kind}"
        if attempt.strategy == "returned":
            return f"the parser {kind.partition(',')[0].partition(' at .')[0]}"
    return None


def title(key: str) -> str:
    """A key in words: `trailing comma, single quotes — fenced, in prose`."""
    _, kind, *rest = [*key.split("|"), ""]
    kind = kind.replace("recorded in the dump", "recorded in the log")
    names = _SAID.get(kind) or ", ".join(name if "_" in name else defect(name) for name in kind.split(", "))
    places = [word for word in rest if word and word not in _EVERYWHERE]
    return f"{names} — {', '.join(places)}" if places else names


def _defect(failed: Trace, ours: Trace, chosen: list[Attempt]) -> str:
    repairs = {edit.repair for attempt in chosen for edit in attempt.edits}
    if ours.truncated:
        return ", ".join(["cut off", *_names(repairs - _CUT)])
    if repairs:
        return ", ".join(_names(repairs))
    several = "several values, " if len(chosen) > 1 else ""
    looked_at = {attempt.span for attempt in failed.attempts if not attempt.edits}
    refused = all(attempt.span in looked_at for attempt in chosen) or ours.verdict == "clean"
    return f"valid JSON, {several}{'refused' if refused else 'not looked at'}"


def _names(repairs: set[str]) -> list[str]:
    names = sorted(repair.replace("_", " ") for repair in repairs)
    return [*names[:_MOST_REPAIRS], "others"] if len(names) > _MOST_REPAIRS else names


def _unreadable(ours: Trace) -> FailureGroup:
    """What `fencepost` reads no value from: why not, without what is quoted there."""
    failures = [attempt for attempt in ours.attempts if attempt.outcome == "failed" and attempt.strategy != "whole"]
    refusals = [tried for tried in ours.attempts if tried.outcome == "rejected" and tried.strategy != "leftover"]
    if ours.verdict == "failed" and failures:
        words = f"unreadable: {_why(failures[-1])}"
    elif refusals:
        words = f"no JSON: {_why(refusals[-1])}"
    else:
        words = NO_CANDIDATE
    key = f"{VERSION}|{words}"[:LONGEST_KEY]
    return FailureGroup(key, title(key), None, None)


def _why(attempt: Attempt) -> str:
    reason = attempt.reason or (attempt.error.message if attempt.error else "")
    if reason.startswith("a fence of "):
        return "a fence of another language"
    if reason.startswith("the call of "):
        reason = "a call cannot be read: " + reason.rpartition("cannot be read: ")[2]
    plain = _number.sub("0", _quoted.sub("…", reason[:400].split(": line")[0]))
    plain = _name.sub("{…}", plain)
    plain = "".join(letter if letter.isprintable() and letter != "|" else " " for letter in plain)
    return plain.strip()[:80] or "without a reason"


def _surroundings(raw: str, start: int, end: int) -> str:
    before = _two_words.match(_without_fence(raw[:start]))
    after = _two_words.match(raw[end:].lstrip("`~ \t\r\n"))
    if before and after:
        return "in prose"
    return "after prose" if before else "before prose" if after else "alone"


def _without_fence(before: str) -> str:
    """The text before a value, without the line that opens its fence."""
    line = before.rfind("\n", 0, len(before.rstrip())) + 1
    return before[:line] if _fence.match(before, line) else before


def _tokens(raw: str, at: int) -> str:
    """Up to three tokens on each side of a place, without what they hold: `"s"▲"s":`."""
    before = _classes(raw[max(0, at - _WIDTH) : at])[-3:]
    return "".join(before) + "▲" + "".join(_classes(raw[at : at + _WIDTH])[:3])


def _classes(text: str) -> list[str]:
    classes: list[str] = []
    for token in _token.findall(text):
        kind = _class(token)
        if not classes or kind != classes[-1] or kind not in "a0_":
            classes.append(kind)
    return classes


def _class(token: str) -> str:
    first = token[0]
    if first == '"' and len(token) > 1:
        return '"s"'
    if first.isalpha() or first == "_":
        return "a"
    if first.isdigit() or (first == "-" and len(token) > 1):
        return "0"
    if token.isspace():
        return "\\n" if "\n" in token else "_"
    return first if first.isascii() and first.isprintable() else "¤"


def _path(raw: str, start: int, at: int) -> str:
    """The last three steps on the way from a value's beginning to `at`. It walks over tokens, since it cannot parse."""
    if at - start > _MOST_WALKED:
        return f"$ (behind {_MOST_WALKED:,} characters)"
    stack: list[tuple[str, str]] = []
    last = key = ""
    inside = False
    for match in _structure.finditer(raw, start, at):
        token = match[0]
        first = token[0]
        inside = first in "\"'" and not (match["closed"] or match["shut"])
        if first in "\"'":
            last = match["double"] or match["single"] or ""
        elif match["word"]:
            last = token
        elif first in ":=":
            key = last
        elif first in "{[":
            stack.append((first, key))
            last = key = ""
        elif first == ",":
            last = key = ""
        elif stack:
            key = stack.pop()[1]
            last = ""
    steps = _steps(stack, key)
    beginning = "$." if len(steps) > 3 else "$"
    return beginning + "".join(f".{step}" for step in steps[-3:]) + (" in a string" if inside else "")


def _steps(stack: list[tuple[str, str]], key: str) -> list[str]:
    steps: list[str] = []
    for depth, (_, name) in enumerate(stack):
        if depth and stack[depth - 1][0] == "[":
            steps.append("*")
        elif name:
            steps.append(_plain(name))
    if key:
        steps.append(_plain(key))
    elif stack and stack[-1][0] == "[":
        steps.append("*")
    return steps


def _plain(key: str) -> str:
    """A key as a step: digits as 0, and what is no plain name as *."""
    return _number.sub("0", key) if _plain_key.match(key) else "*"
