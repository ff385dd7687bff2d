"""Takes a layer off JSON (a string's backslashes, a quotation's marks, entities); edits keep their raw places."""

from __future__ import annotations

import re
from html import unescape
from typing import NamedTuple

from webapp.parsing.edit import Edit, Span, edit_at
from webapp.parsing.machine.tokens import CHECKBOXES, balanced_end
from webapp.parsing.patterns import later

_token = later(r"[^\\\"]++|\\[\s\S]?|\"")
NAME = "escaped_json"
OPENING = r"[{\[](?:\s|\\[nrt]){0,200}(?:[{\[](?:\s|\\[nrt]){0,200})?(?!\\\"[^\"\\\n]{1,80}\"\s{0,20}:)\\{1,3}\""


class Layer(NamedTuple):
    """What takes one layer of escapes, marks or entities off the text at `span`."""

    span: Span
    edits: list[Edit]


def joined(raw: str, edits: list[Edit]) -> list[Edit]:
    """Join a backslash taken from before another with the next edit: alone it could be left out, and must not be."""
    joined_up: list[Edit] = []
    for edit in reversed(edits):
        (start, end), after = edit.span, joined_up[-1] if joined_up else None
        if after and edit.repair == NAME == after.repair and raw.startswith("\\", end) and not edit.new:
            place = Span(start, after.span.end)
            joined_up[-1] = Edit(NAME, place, place.of(raw), raw[end : after.span.start] + after.new)
        else:
            joined_up.append(edit)
    return joined_up[::-1]


def peel(raw: str, start: int, limit: int) -> Layer:
    """Take one layer of escapes off the value that begins at `start`, up to the quote that ends the string round it."""
    edits, end = list[Edit](), limit
    depth, inside, after_slash = 0, False, False
    for match in _token.finditer(raw, start, limit):
        piece = match[0]
        if piece == '"' and not after_slash:
            end = match.start()
            break
        if piece[0] == "\\":
            inside = _peeled(edits, match, inside, after_slash)
        elif not inside:
            depth, end = _closed(raw, match, depth, limit)
        after_slash = piece == "\\\\" and not after_slash
        if end < limit:
            break
    return Layer(Span(start, end), edits)


def _closed(raw: str, match: re.Match[str], depth: int, limit: int) -> tuple[int, int]:
    """How deep brackets are open behind a piece outside of strings, and where the value ended in it, else `limit`."""
    for bracket in _bracket.finditer(raw, *match.span()):
        depth += 1 if bracket[0] in "{[" else -1
        if depth <= 0 and not _goes_on.match(raw, bracket.end(), limit):
            return depth, bracket.end()
    return depth, limit


_bracket = later(r"[{}\[\]]")
_goes_on = later(r'(?:\s|\\[nrt]){0,99}+(?:[}\]:]|,|\\*")')


def _peeled(edits: list[Edit], match: re.Match[str], inside: bool, after_slash: bool) -> bool:
    """Take one escape off; whether what follows is inside a string."""
    start, end = match.span()
    following = match[0][1:]
    if following in ('"', "\\", "/", ""):
        edits.append(Edit(NAME, Span(start, start + 1), "\\", ""))
        return inside != (following == '"' and not after_slash)
    if following in "nrt" and not inside:
        edits.append(Edit(NAME, Span(start, end), match[0], ""))
    return inside


_gap = later(r'"(?:[^"\\]|\\[\s\S])*+"?+|(?P<part>(?:\\[nrt])++)')
_behind_string = later(r"""(?:\\[nrt]|\s){1,1000}+(?:[}\],:]|\Z|"[^"\\\n]{1,80}+"\s*+:)""")
_behind_comma = later(r"""(?:\\[nrt]|\s){1,1000}+(?:["'{}\[\]\d-]|//|/\*|#|true|false|null|\w++\s*+:|\Z)""")
_head = later(
    r"[ \t]{0,6}+(?:(?P<mark>>{1,3}+|[+|-]|//|\#)"
    r"|(?P<letter>L?)(?P<number>\d{1,6}+)(?P<sep>[ ]?[:.|)→\t]|(?=[ ])))[ \t]{0,8}+"
)
"""What may stand before the first line of JSON that is quoted, commented, of a diff, or numbered."""
HEAD = 24
_entity = later(r"(?P<part>&(?:quot|apos|lt|gt|amp|nbsp|#34|#39|#x27|#x22);)")
_heavy = later(r'(?P<part>(?<!\\)\\\\++)(?=")')
_twice_first = later(r'[{\[]\s*+""[^",:{}\[\]\s][^"\n]{0,80}+""\s*+[:,\]]')
_twice = later(r'"(?P<part>")')
"""Every quote stands twice, as a field of a CSV file has it."""
_field_end = later(r'(?<!")(?:"")*+"(?!")')
_gemma_quote = later(r'(?P<part><\|"\|?>)')
_SIGNS = ("&quot;", "&#34;", "&#x22;", "&apos;", "&#39;", "&#x27;", "&lt;", "&gt;", "&amp;")
_ENTITIES = {'<|"|>': '"', '<|">': '"', "&nbsp;": " "} | {sign: unescape(sign) for sign in _SIGNS}
LONGEST = 50_000
"""So much text is taken out of a layer at a time."""


def layer_at(raw: str, start: int, limit: int, failed: int) -> Layer | None:
    """The layer that lies over the value at `start`, where the decoder's failure at `failed` shows one."""
    limit = min(limit, start + LONGEST)
    if _twice_first.match(raw, start, limit):
        ends = _field_end.search(raw, start, limit)
        return _without(raw, start, ends.end() - 1 if ends else limit, _twice, "doubled_quote")
    failing = raw[failed : failed + 2]
    if failing in ("\\n", "\\r", "\\t") and raw[failed + 1 : failed + 5] not in ("true", "null"):
        if raw[failed - 1] == '"' and not _behind_string.match(raw, failed, limit):
            return None  # the quote before it is of a string's text, and so is this
        if raw[failed - 1] == "," and not _behind_comma.match(raw, failed, limit):
            return None
        return _without(raw, start, limit, _gap, "escaped_space")
    if failing[:1] == "&" and _entity.match(raw, failed):
        return _without(raw, start, limit, _entity, "html_entity")
    if _gemma_quote.search(raw, failed, failed + 100):
        return _without(raw, start, limit, _gemma_quote, "call_markup")
    return _without(raw, start, limit, _heavy, NAME) if failing == "\\\\" else None


def listed(raw: str, start: int, limit: int) -> Layer | None:
    """The layer of marks, or of numbers in order, at the beginnings of the lines of a value that begins at `start`.

    None where that is JSON as it stands.
    """
    low = raw.rfind("\n", max(0, start - HEAD), start) + 1
    head = _head.fullmatch(raw, low, start)
    if not head:
        return _changed(raw, low, start, limit)
    feed = raw.find("\n", start, limit)
    if balanced_end(raw, start, feed) >= 0 or raw.startswith(CHECKBOXES, start):
        return None  # what is on that line is whole; the next line may be another quotation
    counted = rf"{head['letter']}(?P<number>\d++){re.escape(head['sep'])}" if head["number"] else ""
    pattern = re.compile(rf"\n(?P<part>[ \t]{{0,6}}+{counted or re.escape(head['mark'])}[ ]?)")
    at, number = start, int(head["number"] or 0)
    while (feed := raw.find("\n", at, limit)) >= 0:
        line = pattern.match(raw, feed, limit)
        if not line or (counted and int(line["number"]) != number + 1):
            break
        at, number = line.end(), number + 1
    feed = feed if feed >= 0 else limit
    return _without(raw, start, feed, pattern, "quotation_mark") if at > start else None


SOON = 40
"""lines of a value in which a diff shows"""
_added = later(r"\n(?P<part>\+|-[^\n]*)")
_changed_line = later(r"\n(?:(?P<mark>[+-])(?:[ \t]*+[\"{}\[\]]|[ \t]++[\w-])|[ \t}\]])")


def _changed(raw: str, low: int, start: int, limit: int) -> Layer | None:
    """The layer of a diff over the value that begins at `start`, on a line without a mark, and goes on below it.

    What `-` took away is no part of it. A `+` comes soon: lines with `-` alone are a list of points.
    """
    if start - low > 1 or raw[low:start].strip() or raw[start + 1 : start + 2] != "\n":
        return None
    at, marks, lines = start + 1, "", 0
    while at < limit and (line := _changed_line.match(raw, at, limit)) and (marks or lines < SOON):
        marks, lines = marks + (line["mark"] or ""), lines + 1
        feed = raw.find("\n", line.end() - 1, limit)
        at = feed if feed >= 0 else limit
    return _without(raw, start, at, _added, "quotation_mark") if "+" in marks else None


def _without(raw: str, start: int, limit: int, pattern: re.Pattern[str], repair: str) -> Layer:
    """`raw[start:limit]` without what the pattern's `part` matches, entities replaced by what they stand for."""
    parts = [match.span("part") for match in pattern.finditer(raw, start, limit) if match["part"]]
    return Layer(
        Span(start, limit), [edit_at(raw, repair, *part, _ENTITIES.get(raw[slice(*part)], "")) for part in parts]
    )
