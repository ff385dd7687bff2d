"""One structural character too many or too few, found where the decoder stops, and proved by decoding."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from webapp.parsing.decode import scan
from webapp.parsing.edit import Edit
from webapp.parsing.machine import lost_quotes, quotes_inside
from webapp.parsing.machine.tokens import SCALAR
from webapp.parsing.patterns import later
from webapp.parsing.span import Span

LONGEST = 100_000
"""So much text behind a candidate's beginning is looked at."""
SHORT = 300
"""So much text shows of most candidates that fail at their beginning that no single character is to blame."""
MOST = 6
"""So many characters are taken out, one after the other."""
_MISSING = {
    ",": "missing_comma",
    '"': "missing_quote",
    **dict.fromkeys("{[", "missing_opener"),
    **dict.fromkeys("}]", "missing_closer"),
}
_REPAIRS = {
    '"': "doubled_quote",
    ",": "doubled_comma",
    ":": "doubled_colon",
    "{": "doubled_brace",
    "[": "doubled_brace",
}
_closes_more = later(r"\s*+[}\]]")
_inches = later(r"\d['′]\s?\d++\"\Z")
_everywhere = later(r'[{\[]\s*+""[^",:{}\[\]]')


class Mended(NamedTuple):
    """What decodes once a character is taken out or put in."""

    end: int
    value: Any
    edits: tuple[Edit, ...]


def one_character(raw: str, start: int, end: int, gap: int = -1) -> Mended | None:
    """The value that begins at `start`, where it decodes but for characters written twice or one lost; else None.

    `gap` is where the decoder failed since no value begins there, else -1.
    """
    if gap >= 0 and _is_hopeless(raw[start : min(end, start + SHORT)], gap - start):
        return None
    text = raw[start : min(end, start + LONGEST)]
    if _everywhere.match(text):
        return _quotes_everywhere(raw, start, text)
    removed: list[int] = []
    for _ in range(MOST):
        stop, value, failed = _decoded(text)
        if failed < 0 and removed:
            return _settled(raw, start, removed, text, stop, value)
        if failed < 0:
            return _bracket(raw, start, text, stop)
        if not removed and (row := _row(raw, start, text, failed)):
            return row
        spot = _spot(text, failed)
        if spot < 0:
            break
        removed.append(spot)
        text = text[:spot] + text[spot + 1 :]
    if removed:
        return None
    return _bracket(raw, start, text, failed) or _inserted(raw, start, text, failed)


def _is_hopeless(text: str, at: int) -> bool:
    """Whether no character of `text` before `at`, where no value begins, is one that is tried."""
    if at + 100 > len(text) or text[at] in '"]' or _spot(text, at) >= 0 or _everywhere.match(text):
        return False
    return next(_pairs(text, at), None) is None and next(_lost(text, at), None) is None


def _decoded(text: str) -> tuple[int, Any, int]:
    """`(end, value, -1)`, or where decoding failed in the third place."""
    try:
        value, stop = scan(text, 0)
    except json.JSONDecodeError as error:
        return -1, None, error.pos
    except StopIteration as stop_at:
        return -1, None, int(stop_at.value)
    except (RecursionError, ValueError):
        return -1, None, 0
    return stop, value, -1


def _spot(text: str, at: int) -> int:
    """The second of two equal characters, where that is why decoding fails at `at`; else -1."""
    if at < 1:
        return -1
    last, char = text[at - 1], text[at : at + 1]
    if char == '"' and (_inches.search(text, max(0, at - 12), at) or quotes_inside.is_of_text(text, 0, at)):
        return -1
    if char == last and char in '",:{[]}':
        return at
    if last == '"' and text[at - 2] == '"' and char and char not in ",:]} \t\r\n":
        return at - 2
    return -1


def _settled(raw: str, start: int, removed: list[int], text: str, stop: int, value: Any) -> Mended | None:
    """The result, unless the text closes more than the value opens: then it is no slip of one character."""
    if _closes_more.match(text, stop):
        return None
    spots = sorted(_originals(removed))
    edits = tuple(_edit(raw, start + spot) for spot in spots)
    return Mended(start + stop + len(spots), value, edits)


def _originals(removed: list[int]) -> Iterator[int]:
    """Where the characters stood in the text from which none was earlier yet."""
    earlier: list[int] = []
    for spot in removed:
        for before in sorted(earlier):
            spot += before <= spot
        earlier.append(spot)
        yield spot


def _edit(raw: str, at: int) -> Edit:
    return Edit(_REPAIRS.get(raw[at], "extra_closer"), Span(at, at + 1), raw[at], "")


def _row(raw: str, start: int, text: str, failed: int) -> Mended | None:
    """A row among rows that lacks its bracket: `["a", 1], "b", 2]]`."""
    row = _bare_row.search(text, max(0, failed - 400), failed) if text[failed : failed + 1] == "]" else None
    if not row:
        return None
    at = row.start("row")
    longer = f"{text[:at]}[{text[at:]}"
    stop, value, failure = _decoded(longer)
    edit = Edit("missing_opener", Span(start + at, start + at), "", "[")
    return Mended(start + stop - 1, value, (edit,)) if failure < 0 and stop > failed else None


_bare_row = later(rf"\],\s*+(?P<row>{SCALAR}(?:\s*+,\s*+{SCALAR})++)\s*+\]\s*+\Z")


def _bracket(raw: str, start: int, text: str, failed: int) -> Mended | None:
    """A bracket that stands twice shows only further on, where its match is missing: the nearest pairs are tried.

    One that opens twice could as well lack its closer; so that is tried only in a text that else breaks its lines.
    """
    for at in _pairs(text, failed):
        at += text[at] != "["
        shorter = text[:at] + text[at + 1 :]
        stop, value, failure = _decoded(shorter)
        if failure < 0 and stop >= failed and (result := _settled(raw, start, [at], shorter, stop, value)):
            return result
    return None


def closed_twice(raw: str, start: int, end: int, tail: int) -> Mended | None:
    """Another reading of a value that ends at `end` with one bracket too many behind it: an earlier one is that one."""
    text = raw[start:tail]
    if tail - start > LONGEST or len(raw[end:tail].strip()) != 1:
        return None
    for at in _pairs(text, end - start - 1):
        if text[at] != "[" and text[at + 2 :].strip("}] \t\r\n"):
            shorter = text[: at + 1] + text[at + 2 :]
            stop, value, failure = _decoded(shorter)
            if failure < 0 and stop == len(shorter):
                return Mended(tail, value, (_edit(raw, start + at + 1),))
    return None


def opened_twice(raw: str, span: Span) -> bool:
    """Whether a text that lacks a closing bracket decodes as well with one opening bracket less."""
    text = span.of(raw)
    if len(text) > LONGEST:
        return False
    shorter = (text[:at] + text[at + 1 :] for at in _places(text, "[[", 0, len(text)))
    return any(_decoded(candidate)[0] == len(candidate) for candidate in shorter)


def _pairs(text: str, failed: int) -> Iterator[int]:
    """Where equal brackets stand side by side before `failed`, the nearest first."""
    low = max(0, failed - 2_000)
    kinds = [pair for pair in ("}}", "]]", "[[") if text.find(pair, low, failed) >= 0]
    if not kinds:
        return
    if "[[" in kinds and text.find("\n", 0, failed) < 0:
        kinds.remove("[[")
    places = sorted((match for pair in kinds for match in _places(text, pair, low, failed)), reverse=True)
    yield from places[:4]


def _places(text: str, pair: str, low: int, failed: int) -> Iterator[int]:
    at = text.rfind(pair, low, failed)
    for _ in range(4):
        if at < 0:
            return
        yield at
        at = text.rfind(pair, low, at)


def _inserted(raw: str, start: int, text: str, failed: int) -> Mended | None:
    """Put one character in where its lack would explain the failure; only a text that is sound to its end counts."""
    for at, char in dict.fromkeys(_lost(text, failed)):
        if char == '"' and text[at - 1] in "”’'`»":
            continue
        longer = text[:at] + char + text[at:]
        stop, value, failure = _decoded(longer)
        if failure < 0 and stop > failed and not _goes_on.match(longer, stop):
            edit = Edit(_MISSING[char], Span(start + at, start + at), "", char)
            return Mended(start + stop - 1, value, (edit,))
    return None


_key_next = later(r'"[^"\\\n]{1,80}+"\s*+:')
_goes_on = later(r"""\s*+[}\],:"']""")
_word_quote = later(r'[A-Za-z_][\w .}\]-]{0,60}+"')
_scalar = later(r"-?\d[\d.eE+-]*+|true|false|null")
_before_value = later(r"[:,\[{]\s*+(?=[^\s])")
_lone_comma = later(r"\n[ \t]*+(?=,|\n)")
_bare_colon = later(r":[ \t]*+(?=\n)")


def _lost(text: str, failed: int) -> Iterator[tuple[int, str]]:
    """Where a character may be lost, and which, the likeliest first."""
    low = max(0, failed - 400)
    char = text[failed : failed + 1]
    if text[failed - 1 : failed] == "\\":
        return
    if char == "\n":
        yield failed - (text[failed - 1] == ","), '"'
    is_last = char == '"' and text.find('"', failed + 1) < 0 and not text.rstrip().endswith('"')
    if is_last and not lost_quotes.single_key.search(text, failed):
        first = len(text.rstrip("}] \t\r\n"))
        if not any(
            text.count(opener, failed, first) > text.count(closer, failed, first) for opener, closer in ("{}", "[]")
        ):
            yield from ((at, '"') for at in range(first, min(first + 8, len(text))))
    bare = _word_quote.match(text, failed)
    if bare:
        yield failed, '"'
    before = text[low:failed].rstrip() if char and char in '"{[],' else ""
    if char and char in '"{[' and before[-1:] not in ",:[{" and not _goes_on_as_text(text, failed, before):
        yield low + len(before), ","
    if char and char in "]," and before[-1:] in ":[,":
        yield failed, "[" if char == "]" else "]"
    if char == ":" and text[failed - 1] == '"':
        key = text.rfind('"', low, failed - 1)
        if key > 0 and text[low:key].rstrip()[-1:] in (":", ","):
            yield key, "{"
    if char == '"' or bare:
        values = [match.end() for match in _before_value.finditer(text, low, failed)][-3:][::-1]
        yield from ((at, '"') for at in values if text[at] != '"' and not _scalar.fullmatch(text, at, failed))
    if char and text[failed - 1] == '"' and char not in ",:}]":
        yield from _closing_quotes(text, low, failed)
    if text.find("\n", 0, failed + 1) < 0:
        return
    for match in _bare_colon.finditer(text, max(0, failed - 4_000), failed):
        yield match.end(), "{" if text[match.end() :].lstrip()[:1] == '"' else "["
        yield match.end(), "["
    for match in [*_lone_comma.finditer(text, max(0, failed - 20_000), failed)][-3:][::-1]:
        yield match.end(), "}"
        yield match.end(), "]"


def _goes_on_as_text(text: str, at: int, before: str) -> bool:
    """Whether a quote before `at`, where another value begins, ends no string: `"f(" ", x)"`, `"a": 1 ," "b"`."""
    return before[-2:] == ',"' or (before[-2:] in ('("', '["', '{"', '="') and not _key_next.match(text, at))


def _closing_quotes(text: str, low: int, failed: int) -> Iterator[tuple[int, str]]:
    """The string before `failed` swallowed what follows it: it may end before each comma, colon or closer in it."""
    opening = text.rfind('"', low, failed - 1)
    for match in list(_delimiter.finditer(text, opening + 1, failed - 1))[:6]:
        if text[match.start() - 2 : match.start()] != '\\"':
            yield match.start(), '"'


_delimiter = later(r"\s*+[,:}\]]")


def _quotes_everywhere(raw: str, start: int, text: str) -> Mended | None:
    """Every quote stands twice, as a field of a CSV file has it."""
    stop, value, failure = _decoded(text.replace('""', '"'))
    if failure >= 0:
        return None
    edits, at, length = [], start, 0
    while length < stop:
        twice = raw.startswith('""', at)
        if twice:
            edits.append(_edit(raw, at + 1))
        at += 1 + twice
        length += 1
    return Mended(at, value, tuple(edits))
