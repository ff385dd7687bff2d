"""Values that decode once a character is taken out, put in or replaced, or quotes are JSON's: proved by decoding."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from webapp.parsing import suspects
from webapp.parsing.decode import first_keys, read
from webapp.parsing.edit import Edit, Span, apply, as_edit, as_span, composed, places
from webapp.parsing.machine import string_quotes, strings
from webapp.parsing.machine.tokens import ASCII, LITERALS, STRING
from webapp.parsing.patterns import holds, later

LONGEST = 100_000
"""So much text behind a candidate's beginning is looked at."""
MOST = 6
"""So many characters are taken out, one after the other."""
_NAMES = {
    '"': ("doubled_quote", "missing_quote"),
    ",": ("doubled_comma", "missing_comma", "missing_comma"),
    ":": ("doubled_colon", "missing_colon", "missing_colon"),
    **dict.fromkeys("{[", ("doubled_brace", "missing_opener", "mismatched_opener")),
    **dict.fromkeys("}]", ("extra_closer", "missing_closer", "mismatched_closer")),
}
"""What is wrong where each of them stands twice, is lost, or another one stands in its place."""
_closes_more = later(r"\s*+[}\]]")
_string_from = later(r'"(?:[^"\\]|\\.){0,2000}+"')
_string_before = later(r'(?<!\\)"(?:[^"\\]|\\.)*+"\Z')
_inches = later(r"\d['′]\s?\d++\"\Z")


class Mended(NamedTuple):
    """What decodes once a character is taken out or put in."""

    end: int
    value: Any
    edits: tuple[Edit, ...]


def one_character(raw: str, start: int, end: int, failed: int = 0) -> Mended | None:
    """The value that begins at `start`, where it decodes but for characters written twice, or one lost or mistaken.

    `failed` is where decoding it fails, counted from `start`, where that is known.
    """
    span, edits = Span(start, min(end, start + LONGEST)), list[Edit]()
    text = whole = span.of(raw)
    first = 0
    for _ in range(MOST):
        stop, value, failed = (-1, None, failed) if 0 < failed < len(text) and not edits else read(text, 0)
        if stop > 0 and edits:  # what closes more than it opens is no slip of one character
            return None if _closes_more.match(text, stop) else Mended(start + stop + len(edits), value, tuple(edits))
        first = first or failed
        spot = _spot(text, failed)
        if spot < 0:
            break
        edits = composed(raw, span, edits, [_removed(text, spot)])
        text = text[:spot] + text[spot + 1 :]
    return _changed(raw, start, whole, first, chain(_second_ones(whole, first), suspects.changes(whole, first)))


def _spot(text: str, at: int) -> int:
    """The second of two equal characters, where that is why decoding fails at `at`; else -1."""
    last, char = text[at - 1], text[at : at + 1]
    if char == "]" and suspects.bare_row(text, at):
        return -1
    if char == '"' and (_inches.search(text, max(0, at - 12), at) or string_quotes.is_of_text(text, 0, at)):
        return -1
    if char == last and char in '",:{[]}':
        return -1 if char == '"' and _has_half(_string_before.search(text, max(0, at - 2_000), at)) else at
    if last == '"' and text[at - 3 : at - 1].endswith('"') and char and char not in ",:]} \t\r\n":
        return -1 if text[at - 3] == "\\" or _has_half(_string_from.match(text, at - 1)) else at - 2
    return -1


def _has_half(string: re.Match[str] | None) -> bool:
    """Whether a string has an odd number of quotes with backslashes: one more beside it is their other half."""
    return string is not None and string[0].count('\\"') % 2 == 1


def _removed(text: str, at: int) -> Edit:
    return Edit(_NAMES[text[at]][0], Span(at, at + 1), text[at], "")


def closed_twice(raw: str, start: int, end: int, tail: int) -> Mended | None:
    """Another reading of a value that ends at `end` with one bracket too many behind it: an earlier one is that one."""
    text = raw[start:tail]
    if tail - start > LONGEST or len(raw[end:tail].strip()) != 1:
        return None
    for at, _, _ in _second_ones(text, end - start):
        if text[at] != "[" and (_has_own_line(text, at) or text[at + 1 :].strip("}] \t\r\n")):
            shorter = text[:at] + text[at + 1 :]
            stop, value, _ = read(shorter, 0)
            if stop == len(shorter):
                return Mended(tail, value, (_removed(raw, start + at),))
    return None


def _has_own_line(text: str, at: int) -> bool:
    """Whether no other than its twin stands on the line of the bracket at `at`, as where each item has its own."""
    before = text[text.rfind("\n", 0, at) + 1 : at].strip()
    return before in ("", text[at]) and text[at + 1 : at + 3].lstrip(",")[:1] == "\n"


def opened_twice(text: str) -> bool:
    """Whether a text that lacks a closing bracket decodes as well with one opening bracket less."""
    if len(text) > LONGEST:
        return False
    shorter = (text[:at] + text[at + 1 :] for at in _places(text, "[[", 0, len(text)))
    return any(read(candidate, 0)[0] == len(candidate) for candidate in shorter)


def _second_ones(text: str, failed: int) -> Iterator[tuple[int, int, str]]:
    """Brackets before `failed` that may stand twice, on a line of their own or side by side, the nearest first.

    That shows only further on, where their match is missing. As `suspects.changes` has them.

    One that opens twice could as well lack its closer; so that is tried only in a text that else breaks its lines.
    """
    low = max(0, failed - 2_000)
    below = [match.start("second") for match in _below.finditer(text, low, failed + 1)]
    yield from ((at, 1, "") for at in below[:-5:-1])
    closes = holds(text, failed, len(text), "}]")  # else one closer less would close nothing
    kinds = [pair for pair in ("}}", "]]", "[[") if (closes or pair == "[[") and text.find(pair, low, failed) >= 0]
    if "[[" in kinds and text.find("\n", 0, failed) < 0:
        kinds.remove("[[")
    places = sorted((match for pair in kinds for match in _places(text, pair, low, failed)), reverse=True)
    yield from ((at + (text[at] != "["), 1, "") for at in places[:4])


_below = later(r"\n([ \t]*+)\S[^\n]*+(?<![{\[,])(?=\n\1(?P<second>[}\]]))")
"""A closer as far indented as the line above it, which opens nothing: what it closes is not as far indented."""


def _places(text: str, pair: str, low: int, failed: int) -> Iterator[int]:
    at = text.rfind(pair, low, failed)
    for _ in range(4):
        if at < 0:
            return
        yield at
        at = text.rfind(pair, low, at)


def _changed(raw: str, start: int, text: str, failed: int, changes: Iterable[tuple[int, int, str]]) -> Mended | None:
    """Take out, replace or put in a character where that explains the failure; only a text sound to its end counts."""
    for at, width, char in dict.fromkeys(changes):
        if char == '"' and not width and (text[at - 1] in "“”’'`»" or text[at - 1 : at + 1] == "::"):
            continue
        changed = text[:at] + char + text[at + width :]
        stop, value, _ = read(changed, 0)
        is_doubled = not char and text[at] in "{}[]"
        ends_there = stop == failed and text[failed : failed + 1] == "\n" and text.find('"', failed) < 0
        explains = stop > failed - is_doubled or ends_there
        if not explains or (_closes_more if is_doubled else _goes_on).match(changed, stop):
            continue
        if is_doubled or not first_keys(changed[:stop])[1]:
            old = text[at : at + width]
            edit = Edit(_name(old, char), Span(start + at, start + at + width), old, char)
            return Mended(start + stop + width - len(char), value, (edit,))
    return None


_goes_on = later(r"""\s*+[}\],:"']""")


def _name(old: str, new: str) -> str:
    if old == ";" and new == ",":
        return "semicolon"
    if ASCII.get(old) == new:
        return "full_width"
    if new == '"' and old:
        return strings.NAMES.get(old, "smart_quotes")
    if len(new) == 2:
        return "comma_in_quote" if ":" in new else "missing_quote"
    if not new and old not in "{}[]":
        return {'"': "stray_text", ",": "doubled_comma"}.get(old, "stray_mark")
    return _NAMES[new or old][(2 if old else 1) if new else 0]


_ENDS = r"(?=\s{0,60}+[,:}\]])"
_token = later(
    r"""(?:[^'"\\TFN]++|\\.|"(?:[^"\\\n]++|\\.)*+"|(?!True|False|None)[TFN])*+(?:"""
    rf"""(?<![^\W_])(?<!')(?:(?P<plain>'[^'"\\\n]*+'{_ENDS})|(?P<string>'(?:[^'\\\n]++|\\.)*+'{_ENDS}))"""
    r"""|(?P<quote>(?<![^\W_])'|'(?![^\W_]))|(?P<word>\b(?:True|False|None)(?!_?[^\W_]))|.|\Z)"""
)
"""What is passed over, then a string in single quotes, such a quote by itself that is no apostrophe, or a literal."""
_special = later(r'\\.|"')
_json_literal = later(rf"{STRING}|(?P<literal>\b(?:true|false|null)\b)")


def requoted(raw: str, start: int, end: int) -> Mended | None:
    """The value at `start` of a text in single quotes, where it decodes with double ones, but for one character."""
    span, (edits, alone) = Span(start, end), _edits(raw, start, end)
    twin = apply(raw, span, edits)
    stop, value, _ = read(twin, 0)
    slips: tuple[Edit, ...] = ()
    if stop < 0:
        mended = one_character(twin, 0, len(twin))
        if not mended:
            return None
        stop, value, slips = mended
    if _closes_more.match(twin, stop) or ((slips or alone) and _spoils(twin, stop, edits, slips, start)):
        return None
    last = end - (len(twin) - stop)
    while edits and edits[-1].span.start >= last:  # what stands behind the value
        last += len(edits[-1].new) - len(edits.pop().old)
    return Mended(last, value, tuple(composed(raw, span, edits, slips)))


def _edits(raw: str, start: int, end: int) -> tuple[list[Edit], bool]:
    """JSON's quotes and literals in the places of Python's, and whether a quote stands alone."""
    edits, alone = list[Edit](), False
    for match in _token.finditer(raw, start, end):
        if not (kind := match.lastgroup):
            continue
        at, stop = match.span(kind)
        if kind == "word":
            edits.append(as_edit(("literal", as_span((at, stop)), match[kind], LITERALS[match[kind]])))
            continue
        edits.append(as_edit(("single_quotes", as_span((at, at + 1)), "'", '"')))
        if kind == "quote":
            alone = True
            continue
        if kind == "string":
            edits += _inside(raw, at + 1, stop - 1)
        edits.append(as_edit(("single_quotes", as_span((stop - 1, stop)), "'", '"')))
    return edits, alone


def _inside(raw: str, start: int, end: int) -> Iterator[Edit]:
    """What stands otherwise in JSON's strings: quotes get a backslash, apostrophes lose theirs."""
    for match in _special.finditer(raw, start, end):
        at = match.start()
        if match[0] == '"':
            yield as_edit(("unescaped_quote", as_span((at, at)), "", "\\"))
        elif match[0] == "\\'":
            yield as_edit(("bad_escape", as_span((at, at + 1)), "\\", ""))


def _spoils(twin: str, stop: int, edits: Sequence[Edit], slips: Sequence[Edit], start: int) -> bool:
    """Whether a word that was taken for a literal stands in a string of the mended text."""
    begins = places(Span(start, start), edits).begins
    words = {at for edit, at in zip(edits, begins, strict=True) if edit.repair == "literal" and at < stop}
    mended, mapped = apply(twin, Span(0, stop), slips), places(Span(0, stop), slips)
    return not words <= {mapped.at(match.start()) for match in _json_literal.finditer(mended) if match["literal"]}
