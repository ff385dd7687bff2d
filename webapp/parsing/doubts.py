"""Where a mended value has another reading: brackets that were moved, strings that may have swallowed keys."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from webapp.parsing.decode import decode, first_keys
from webapp.parsing.edit import Edit, apply, to_raw
from webapp.parsing.machine.tokens import OPENERS, SCALAR, STRING
from webapp.parsing.one_character import closed_twice, opened_twice
from webapp.parsing.patterns import later
from webapp.parsing.span import Span
from webapp.parsing.trace import Attempt, Flag

_LONG, _COMMAS = 20_000, 40
_LOOKS = 20
"""brackets at a value's end of which it is asked whether they could stand elsewhere"""
_MOVED = {"mismatched_opener", "missing_closer", "extra_closer", "mismatched_closer", "missing_opener", "doubled_brace"}
_DOUBTFUL = _MOVED | {"stray_text", "stray_mark"}
_QUOTES = {"unescaped_quote", "missing_quote"}
_BETWEEN_KEYS = _MOVED | _QUOTES
_NEXT = r"""(?:(?:'|\\")?\w[\w -]{0,40}+(?:'|\\")?\s{0,9}+:|'[^'"\\]|\\"\w|[{\[]{1,9}+\s{0,9}+(?:'|\\"))"""
_key_in_string = later(
    r"""(?:,|(?:'|\\")\s{1,9}\w{1,5})(?:\s|\\n){0,60}+(?:'[^'"\\\n]{1,60}+'|\\"[^"\\\n]{1,60}+\\")\s{0,9}+(?::|=>)"""
    rf"""|(?:'|\\")\s{{0,9}}+[,.;|:](?:\s|\\n){{0,60}}+(?:[*`_~^.;|:-]{{1,3}}+\s{{0,9}}+)?+{_NEXT}"""
    r"""|'(?:\s|\\n){1,20}+'(?=[^'\s])|\\"\s{1,20}+(?:\\"|"(?=\w))|(?<=")[\w -]{1,40}+(?:'|\\")\s{0,9}+:"""
    r"""|[}\]](?:\s|\\n){0,60}+,(?:\s|\\n){0,60}+[{\[]"""
)
_signed = later(r"[~-]++\s*+-?\d")
"""A mark that may be of the number behind it."""
_pair = later(rf"(?:\A|[:,\[]\s*)\{{\s*+(?:{STRING}|'[^'\n]*+')\s*+,\s*+(?:{SCALAR}|'[^'\n]*+')\s*+\}}")
_inches = later(r'\d\\"')
_half_before = later(r"""(?:\d["']|\w\s["']\w[^"'\n]{0,40}["'])\s{0,9}+,\s{0,60}+\Z""")
"""What may stand in a string instead of ending it: `27", wide"`, `say 'yes', then go'`."""
_scalar_string = later(r"""["'](?:-?\d[\d.]*+|true|false|null|True|False|None)\Z""")
"""A number or literal behind a quote that may be the one too many."""
_alone = later(rf"\{{\s*+(?:{STRING}|'[^'\n]*+')\s*+\}}")
"""An object of a pair of values, or of one, which may be a set or lack what follows the key."""
_signed_string = later(
    rf"""(?:[^"]++|"(?:[^"\\'}}\]]++|\\[^"]|[}}\]](?!,|\\n))*+")*+(?:(?P<string>{STRING})(?P<colon>\s*+:)?|\Z)"""
)
"""The next string with a sign that it may have swallowed something: a quote, or a bracket before a comma or a line."""
_in_no_key = later(r"""\\["n]|'\W|[{}\[\]]""")
"""What no key holds but one that swallowed what follows it."""
_string_or_key = later(rf"({STRING})(\s*+:)?")
_closing = later(r"""(?<=[^\s,"'\\])(?:'|\\")\s{0,9}+,""")
_single = later(r"(?<!\w)'|'(?!\w)")
_key_end = later(r"""["'`]\s{0,9}+:""")
_key_behind = later(r'"\s{0,20}+:')
_outermost = later(r"\n[ \t]++[^\n]*+\n[}\]]\s*+\Z")
"""An indented line, and a bracket at the beginning of the last one, which closes what is outermost."""


def doubts(raw: str, attempt: Attempt, *, cut: bool) -> Iterator[Flag]:
    """Where the text has another reading: a bracket moved or added, a quote escaped or added that could end a key."""
    if not attempt.edits:
        return
    if attempt.strategy == "called" and attempt.edits[0].repair == "missing_opener":
        yield Flag("closed_by_guess", attempt.edits[0].span)
    edits = _unsure(raw, attempt.edits)
    names = {edit.repair for edit in edits}
    doubtful_set = _pair if "set" in names else _alone if "missing_value" in names else None
    if doubtful_set and (pair := doubtful_set.search(attempt.span.of(raw))):
        yield Flag("closed_by_guess", Span(attempt.span.start + pair.start(), attempt.span.start + pair.end()))
    yield from _at_the_end(raw, attempt, names)
    if {"missing_value", "comment"} <= names:
        yield next(Flag("left_over", edit.span) for edit in attempt.edits if edit.repair == "comment")
    if "missing_comma" in names and names & {"missing_value", "unquoted_key", "unquoted_value"}:
        yield from _beside_commas(attempt)
    if names & _QUOTES:
        yield from _quotes(raw, edits, names)
    if "unquoted_value" in names:
        yield from _bare(raw, attempt)
    if _may_have_swallowed(raw, attempt, names) and (at := _swallowed(apply(raw, attempt.span, attempt.edits))) >= 0:
        place = to_raw(attempt.span, attempt.edits, at)
        yield Flag("swallowed_keys", Span(place, place))
    if names & _DOUBTFUL:
        yield from _brackets(raw, attempt, cut)


def makes_equal_keys(raw: str, attempt: Attempt) -> bool:
    """Whether a bracket or a quote that was mended between two equal keys puts them into one object."""
    core = _core(raw, attempt)
    if not any(edit.repair in _BETWEEN_KEYS and edit.span.start < core for edit in _unsure(raw, attempt.edits)):
        return False
    text = apply(raw, attempt.span, attempt.edits)
    if not (repeated := first_keys(text)[1]):
        return False
    offsets, shift = list[int](), -attempt.span.start
    for edit in attempt.edits:  # where each is in the mended text
        if edit.span.start < core and edit.repair in _BETWEEN_KEYS:
            offsets.append(edit.span.start + shift)
        shift += len(edit.new) - len(edit.old)
    places: dict[str, list[int]] = {}
    for match in _string_or_key.finditer(text):
        if match[2] and (key := json.loads(match[1])) in repeated:
            places.setdefault(key, []).append(match.start())
    return any(bisect_right(offsets, at[0]) < bisect_right(offsets, at[-1]) for at in places.values())


def _at_the_end(raw: str, attempt: Attempt, names: set[str]) -> Iterator[Flag]:
    """Closing brackets at the text's end that may be of the string or the comment before them."""
    behind = raw[attempt.span.end : attempt.span.end + 2_000]
    if "\n" in behind.strip() or not names & {"missing_quote", "comment"}:
        return
    for edit in reversed(attempt.edits):
        rest = raw[edit.span.end : attempt.span.end]
        if (edit.repair == "missing_quote" and not behind.strip()) or (
            edit.repair == "comment" and edit.old.startswith(("//", "#"))
        ):
            if rest and not rest.strip("}] \t"):
                yield Flag("closed_by_guess", edit.span)
            return


def _beside_commas(attempt: Attempt) -> Iterator[Flag]:
    """Null was put before a key, which may as well begin an object; or a bare word was made a key without a comma.

    Where other keys have quotes, such a word may as well be a note.
    """
    bare = sum(edit.repair == "unquoted_key" for edit in attempt.edits)
    for edit, following in pairwise(attempt.edits):
        if edit.repair == "missing_value" and following.repair == "missing_comma" and edit.span == following.span:
            yield Flag("closed_by_guess", edit.span)
        elif edit.repair == "unquoted_value" and following.repair == "missing_comma" and edit.span == following.span:
            yield Flag("left_over", edit.span)
        elif edit.repair == "missing_comma" and following.repair == "unquoted_key" and bare == 2:
            yield Flag("left_over", following.span)


def _bare(raw: str, attempt: Attempt) -> Iterator[Flag]:
    """Values without quotes that hold the end of a key: `1. 'b': 2`."""
    places = [edit.span.end for edit in attempt.edits if edit.repair == "unquoted_value"]
    for opening, closing in zip(places[::2], places[1::2], strict=False):
        if _key_end.search(raw, opening, closing):
            yield Flag("swallowed_keys", Span(opening, closing))


def _may_have_swallowed(raw: str, attempt: Attempt, names: set[str]) -> bool:
    """Whether a quote was mended, and one is left that neither opens nor closes a string: counting costs least."""
    if names & _QUOTES:
        return True
    mended = sum(edit.repair == "single_quotes" for edit in attempt.edits)
    return mended > 0 and (raw.count("'", *attempt.span) > mended or raw.find('\\"', *attempt.span) >= 0)


def _swallowed(text: str) -> int:
    """Where a string of the mended text holds what looks like a key or another string, and no code; else -1."""
    before_it = -1
    for found in _signed_string.finditer(text):
        if (string := found["string"]) is None:
            break
        start, end = found.span("string")
        if (string.count('\\"') - len(_inches.findall(string))) % 2 or _is_odd(string, "'"):
            if before_it > 0 and text[before_it:start].strip() == ",":
                return start  # two items, each with half of what may be quoted in one: `["f("a", "b")"]`
            before_it = end
        if found["colon"] and _in_no_key.search(text, start + 1, end - 1):
            return start
        match = _key_in_string.search(text, start + 1, end - 1)
        if not match and (odd := _closing.search(text, start + 1, end - 1)) and _is_odd(string, odd[0][0]):
            match = odd
        before = text[start : match.start()] if match else ""
        if match and not any(before.count(opener) > before.count(closer) for opener, closer in OPENERS.items()):
            return match.start()
    return -1


def _is_odd(string: str, quote: str) -> bool:
    """Whether one of the quotes in a string has no other, apostrophes left alone."""
    quotes = string.count('\\"') if quote == "\\" else len(_single.findall(string))
    return quotes % 2 == 1


def _unsure(raw: str, edits: Sequence[Edit]) -> Sequence[Edit]:
    """The edits but for quotes escaped in pairs in a string in single quotes, where none of them could end it."""
    if "unescaped_quote" not in {edit[0] for edit in edits}:
        return edits
    unsure, opening, escaped = list[Edit](), 0, 0
    for edit in edits:
        repair = edit[0]
        if repair == "unescaped_quote":
            escaped += 1
        elif repair == "single_quotes":
            is_even = escaped and not escaped % 2 and escaped == len(unsure) - opening - 1
            if is_even and raw.count('"', unsure[opening].span.start, edit.span.start) == escaped:
                del unsure[opening + 1 :]
            opening, escaped = len(unsure), 0
        unsure.append(edit)
    return unsure


def _quotes(raw: str, edits: Sequence[Edit], names: set[str]) -> Iterator[Flag]:
    """Quotes at which a string may have swallowed a key."""
    single = False
    both = {"unescaped_quote", "missing_quote"} <= names and "single_quotes" not in names
    before = ""
    for edit in edits:
        at = edit.span.start
        single ^= edit.repair == "single_quotes"
        is_bare = before in ("unquoted_value", "unquoted_key")
        is_swallowed = edit.repair == "missing_quote" and (both or is_bare or raw[at - 1] in "'`,;")
        before = edit.repair
        if edit.repair == "missing_quote" and _half_before.search(raw, max(0, at - 99), at):
            is_swallowed = True
        if edit.repair == "missing_quote" and _scalar_string.search(raw, max(0, at - 40), at):
            yield Flag("closed_by_guess", edit.span)
        if edit.repair == "unescaped_quote" and not single:
            is_swallowed = _may_end_a_key(raw, at)
        if is_swallowed:
            yield Flag("swallowed_keys", edit.span)
            return


def _brackets(raw: str, attempt: Attempt, cut: bool) -> Iterator[Flag]:
    """Brackets that were moved in the midst of a value, or put at its end; and text that was taken out."""
    core, looks = _core(raw, attempt), _LOOKS
    for edit in attempt.edits:
        at = edit.span.start
        if edit.repair == "stray_text" or (edit.repair == "stray_mark" and _signed.match(raw, edit.span.start)):
            yield Flag("left_over", edit.span)
        elif edit.repair in _MOVED:
            looks -= 1
            if attempt.span.start < at < core or (looks >= 0 and _is_guess(raw, attempt, edit, cut)):
                yield Flag("closed_by_guess", edit.span)
                return


def _is_guess(raw: str, attempt: Attempt, edit: Edit, cut: bool) -> bool:
    """Whether a bracket at a value's end could as well stand elsewhere, or nothing of the text closes the value."""
    behind = raw[edit.span.end : attempt.span.end].strip(", \t\r\n")
    if edit.repair == "missing_closer":
        if not behind:
            return not cut or bool(_outermost.search(raw, *attempt.span)) or opened_twice(raw, attempt.span)
        return opened_twice(raw, attempt.span) or _closes_elsewhere(raw, attempt, edit)
    if edit.repair == "mismatched_closer":
        return raw[max(0, edit.span.start - 50) : edit.span.start].rstrip()[-1:] in ("{", "[")
    if edit.repair != "extra_closer":
        return False
    return bool(
        behind.strip(f"{edit.old} \t\r\n") or closed_twice(raw, attempt.span.start, edit.span.start, attempt.span.end)
    )


def _closes_elsewhere(raw: str, attempt: Attempt, edit: Edit) -> bool:
    """Whether the value is sound as well where the bracket is put in before an earlier comma."""
    rest = [e for e in attempt.edits if e is not edit]
    if attempt.span.end - attempt.span.start > _LONG or len(edit.new) != 1:
        return False
    before = apply(raw, Span(attempt.span.start, edit.span.start), [e for e in rest if e.span.end <= edit.span.start])
    text = apply(raw, attempt.span, rest)
    at = len(before)
    for _ in range(_COMMAS):
        at = text.rfind(",", 0, at)
        if at < 0:
            return False
        if decode(text[:at] + edit.new + text[at:]).failure is None:
            return True
    return False


def _may_end_a_key(raw: str, at: int) -> bool:
    """Whether a colon follows the quote at `at`, or a comma stands before it."""
    if raw[at - 1] == "," or (raw[at - 1].isspace() and raw[max(0, at - 20) : at].rstrip()[-1:] == ","):
        return True
    return _key_behind.match(raw, at) is not None


def _core(raw: str, attempt: Attempt) -> int:
    """Where what a value holds ends: before its last closing brackets, and before what was taken off its end."""
    start, core = attempt.span.start, attempt.span.end
    for edit in reversed(attempt.edits):
        core = _stripped(raw, start, core)
        if edit.new or edit.span.end < core:
            break
        core = min(core, edit.span.start)
    return _stripped(raw, start, core)


def _stripped(raw: str, start: int, end: int) -> int:
    while end > start and raw[end - 1] in "}] \t\r\n":
        end -= 1
    return end
