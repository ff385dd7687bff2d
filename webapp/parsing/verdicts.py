"""What a text is and what was taken from it: where every profile's verdict is derived, from the text.

Edits that were seen prove nothing: a lenient decoder shows none, and a program that goes on with a value may change it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from webapp import jsontext
from webapp.parsing.decode import decode, read
from webapp.parsing.edit import Edit
from webapp.parsing.span import Span, stripped
from webapp.parsing.trace import Attempt, Flag, Verdict

JSON_SPACE = " \t\r\n"
"""White space as RFC 8259 knows it; any other character beside a value means that the response is not JSON alone."""
PLACES = 20
"""openers at which a value is looked for of which its decoder gave no place"""
UNSEEN = "read by a lenient decoder; what it changed was not seen"
SURPLUS = "}]\n\r\t ,;"
"""what may stand behind a value as the rest of it: removing that is a repair, and no other text"""
LOCATED = "located: its value stands here unchanged"
_UNPLACED = frozenset(("returned", "derived", "unlocated", "json_repair"))
"""edits that stand for all that somebody's own code did"""
_opener = re.compile(r"[\[{]")


def verdict(raw: str, chosen: Sequence[Attempt], *, offered: bool) -> Verdict:
    """What `raw` is, of which the attempts `chosen`, as `settled` left them, gave the values.

    clean: all of it, less white space, is JSON (RFC 8259). extracted: what was taken is. repaired: a value was taken
    from text that is not JSON, whether its edits are known or not. none: nothing was there to take it from, as where
    an SDK makes {} of no text.
    """
    if not chosen:
        return "failed" if offered else "none"
    if not raw.strip().strip("\ufeff"):
        return "none"
    if not all(attempt.is_json for attempt in chosen):
        return "repaired"
    span, everything = chosen[0].span, stripped(raw, characters=JSON_SPACE)
    alone = len(chosen) == 1 and span.start <= everything.start and span.end >= everything.end
    return "clean" if alone else "extracted"


def settled(raw: str, attempt: Attempt) -> tuple[Attempt, Flag | None]:
    """An accepted attempt that knows whether its text is JSON, and a flag where its value is not what that JSON says.

    An edit that stands for code nobody saw is dropped where the text is JSON, or where the value stands in it as JSON.
    Linear: the text is decoded once more, and at `PLACES` openers where the decoder gave no place.
    """
    if attempt.is_json:
        return attempt, None
    unseen = _is_unseen(attempt)
    decoded = decode(attempt.span.of(raw), finite=True)
    if not decoded.failure:
        same = _same(decoded.value, attempt.value)
        edits = () if same or unseen else attempt.edits
        flag = None if same else Flag("changed_afterwards", attempt.span)
        return replace(attempt, edits=edits, is_json=True), flag
    if not unseen:
        return attempt, None
    if span := place_of(raw, attempt.span, attempt.value):
        behind = Span(span.end, attempt.span.end)
        if (surplus := behind.of(raw).strip()) and not surplus.strip(SURPLUS):
            edit = Edit("removed", behind, behind.of(raw), "")
            return replace(attempt, span=Span(span.start, behind.end), edits=(edit,), note=LOCATED), None
        return replace(attempt, span=span, edits=(), note=LOCATED, is_json=True), None
    return replace(attempt, note=attempt.note or UNSEEN), None


def place_of(raw: str, within: Span, value: Any) -> Span | None:
    """The first place in `raw[within]` where the decoder itself reads `value`; None where it stands nowhere as JSON."""
    if not isinstance(value, (dict, list)):
        return None
    for match in islice(_opener.finditer(raw, *within), PLACES):
        end, read_value = read(raw, match.start())[:2]
        if 0 < end <= within.end and _same(read_value, value):
            return Span(match.start(), end)
    return None


def _is_unseen(attempt: Attempt) -> bool:
    """Whether no edit says how the value came about, or one that stands for the whole text."""
    if len(attempt.edits) != 1:
        return not attempt.edits
    edit = attempt.edits[0]
    return edit.repair in _UNPLACED or edit.repair == attempt.strategy


def _same(first: Any, second: Any) -> bool:
    """Equal as JSON; values that are too deep to be written are taken to be."""
    if type(first) is not type(second):
        return jsontext.same_as([first]) == jsontext.same_as([second])
    written = jsontext.canonical([first])
    return written is None or written == jsontext.canonical([second])
