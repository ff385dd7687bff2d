"""Where a mended value has another reading: brackets that were moved or added, text that was taken out."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise

from webapp.parsing import swallowed
from webapp.parsing.calls.tags import UNOPENED
from webapp.parsing.decode import decode, first_keys
from webapp.parsing.edit import Edit, Span, apply, places, trimmed
from webapp.parsing.machine.tokens import FLAT, LITERAL, QUOTED, SCALAR, STRING, TYPESET
from webapp.parsing.mended import closed_twice, opened_twice
from webapp.parsing.patterns import later
from webapp.parsing.trace import Attempt, Flag

_LONG, _COMMAS = 20_000, 40
_LOOKS = 20
"""brackets at a value's end of which it is asked whether they could stand elsewhere"""
_MOVED = {"mismatched_opener", "missing_closer", "extra_closer", "mismatched_closer", "missing_opener", "doubled_brace"}
_DOUBTFUL = _MOVED | {"stray_text", "stray_mark"}
_BETWEEN_KEYS = _MOVED | swallowed.QUOTES
_strings = later(r"""["']\s*,\s*(["'])[^"'\n]{1,80}+\1\s*\Z""")
_key = later(r"""["']\s*:""")
_string = later(r""",\s*["']""")
_signed = later(r"""[~-][*`_~^.|-]{0,2}+\s*+-?\d|(?<=\d)-|<["']|`?\\"(?![^"\n]{0,80}+"\s*:)|(?<![\w"}\]])\#""")
"""A mark that may be of the number beside it, or of the string behind it."""
_pair = later(rf"(?:\A|[:,\[]\s*)(?P<pair>\{{\s*+(?:{STRING}|'[^'\n]*+')\s*+(?:,\s*+(?:{SCALAR}|'[^'\n]*+')\s*+)?+\}})")
"""An object of a pair of values, or of one, which may be a set or lack what follows the key."""
_no_row = later(rf"\{{\s*+{STRING}\s*+,(?!\s*+{SCALAR}\s*+[,}}])")
"""A set that begins with a string and no other scalar: the comma may stand in a colon's place."""
_keyed_item = later(
    r"""\A\[\s*+"[\w ./-]{0,40}+\s{0,9}+[:=]\s|\[\s*+"[\w ./-]{0,40}+"""
    r"""(?:(?:\\"|')[*`_~^.|-]?+\s{0,9}+[:=]\s|\s?[:=]\s{0,9}+(?:\\"|'))"""
)
"""An array that begins with what may be a key: its bracket may be the wrong one."""
_lone_pair = later(
    rf"\[\s*+(?:{STRING}|{QUOTED})\s*+:\s*+(?:{SCALAR}|{QUOTED}|{FLAT})\s*+\]|\[[^\[\]{{}}:]{{1,200}}+:[^\[\]{{}}:]{{1,200}}+\]"
)
"""One key and its value in square brackets: two items as well, with a colon for their comma."""
_ends_within = later(
    rf"""[{TYPESET}][^"“”’′«»」』\n]{{0,200}}+[“”’′«»」』](?!\s{{0,9}}+")[^":{{}}\[\]\n]{{1,200}}+"\s{{0,9}}+[,:}}\]]"""
    rf"""|[{TYPESET}][^"\n]{{0,200}}+(?<=\\)\""""
)
"""A string between a quote of typography and a plain one, in which the first one's own closer stands, or a plain one
with a backslash."""
_next_item = later(r'\n([ \t]++)"[^"\n]*+(?<=,)\n\1(?![ \t])')
"""A line that an array's item begins with, and one as far indented that the item goes on with."""
_glued_item = later(r'(?<=")"(?![^"\n]{0,100}+"\s{0,9}+:)|(?<=\w)\[|(?<=")\d|:(?!\s*"[^"\n]{0,80}+"\s*:)')
_TEXT = r"(?:[^`\"\\\n]|\\.)*+"
_literal_item = later(rf",[ ]?{LITERAL}\s{{0,9}}+\]|`{_TEXT}(?:`{_TEXT}`{_TEXT})*+\"")
"""Behind an array's item, a literal; or a backtick without another, in whose place the quote may belong."""
_plain_string = later(r"""[fFrR](["'])[^"'\\{\n]*+\1|[bBuU]"[^"'\\\n]*+\"""")
"""A string with a prefix that nothing in it asks for: the letter may be of it."""
_string_or_key = later(rf"({STRING})(\s*+:)?")
_outermost = later(r"\n[ \t]++[^\n]*+\n[}\]]\s*+\Z")
"""An indented line, and a bracket at the beginning of the last one, which closes what is outermost."""


def doubts(raw: str, attempt: Attempt, *, cut: bool) -> Iterator[Flag]:
    """Where the text has another reading: a bracket moved or added, a quote escaped or added that could end a key."""
    if attempt.strategy == "called" and attempt.edits[0].repair == "missing_opener":
        yield Flag("closed_by_guess", attempt.edits[0].span)
    edits = swallowed.unsure(raw, attempt.edits)
    names = {edit.repair for edit in edits}
    if names & {"set", "missing_value"} and (pair := _pair.search(attempt.span.of(raw))):
        yield Flag("closed_by_guess", Span(*(attempt.span.start + at for at in pair.span("pair"))))
    if "mismatched_closer" in names and (
        "semicolon" in names or _keyed_item.search(apply(raw, attempt.span, attempt.edits))
    ):  # the closer may have been right, and the opening bracket of keys and values wrong
        yield Flag("closed_by_guess", Span(attempt.span.start, attempt.span.start + 1))
    for edit in edits if names & _ASKED.keys() else ():
        if (is_doubtful := _ASKED.get(edit.repair)) and is_doubtful(raw, edit):
            yield Flag("closed_by_guess", edit.span)
            break  # one of a kind is shown
    yield from _at_the_end(raw, attempt, names)
    if "comment" in names:
        ends_early = "missing_value" in names
        comments = (edit.span for edit in edits if edit.repair == "comment")
        yield from [Flag("left_over", span) for span in comments if ends_early or _is_of_value(raw, span)][:1]
    if "missing_comma" in names and names & {"missing_value", "unquoted_key", "unquoted_value"}:
        yield from _beside_commas(attempt)
    yield from swallowed.flags(raw, attempt, edits, names)
    if names & _DOUBTFUL:
        yield from _brackets(raw, attempt, cut)


def makes_equal_keys(raw: str, attempt: Attempt) -> bool:
    """Whether a bracket or a quote that was mended between two equal keys puts them into one object."""
    core = _core(raw, attempt)
    begins = zip(attempt.edits, places(attempt.span, attempt.edits).begins, strict=True)
    mended = [at for edit, at in begins if edit.span.start < core and edit.repair in _BETWEEN_KEYS]
    text = apply(raw, attempt.span, attempt.edits) if mended else ""
    if not (text and (repeated := first_keys(text)[1])):
        return False
    keys: dict[str, list[int]] = {}
    for match in _string_or_key.finditer(text):
        if match[2] and (key := json.loads(match[1])) in repeated:
            keys.setdefault(key, []).append(match.start())
    return any(bisect_right(mended, at[0]) < bisect_right(mended, at[-1]) for at in keys.values())


def _is_of_value(raw: str, comment: Span) -> bool:
    """Whether a comment with a key in it ends at a bracket, not with its line, or is a mark right before a string."""
    if raw[comment.start : comment.start + 2] in ('#"', "#'"):
        return True
    return raw[comment.end : comment.end + 1] in ("}", "]") and _key.search(raw, *comment) is not None


def _is_listed(raw: str, edit: Edit) -> bool:
    """Whether a comma that was taken for a colon stands among strings, which may be a list: `"k": "a", "b", "c"`."""
    at = edit.span.start
    return edit.old == "," == raw[at] and bool(_strings.search(raw, max(0, at - 120), at) and _string.match(raw, at))


def _may_be_of_text(raw: str, edit: Edit) -> bool:
    """Whether a quote that was taken for a doubled one may be of the text: both ends of one string alone have two, or
    the string before an empty one ends in another quote (`"x', ""`).
    """
    at = edit.span.start - raw.startswith('"', edit.span.start - 1)
    before = raw[max(0, at - 99) : at]
    is_alone = _last_quote.search(before) is not None and _both_ends.match(raw, at) is not None
    return is_alone or (before.rstrip()[-2:] == "'," and raw.startswith('""', at))


_last_quote = later(r'(?:\A|[^"])"[^"]*\Z')
_both_ends = later(r'""(?![\s:,}\]])[^"\n]++""(?=\s*[,}\]](?![^"]{0,200}+""[^\s,}\]]))')


_FALSE, _argument = 'string="false"', later(UNOPENED)
"""An argument that begins right where another one's value does: that may be empty, or hold what is spelled like one."""
_ASKED: dict[str, Callable[[str, Edit], object]] = {
    "call_markup": lambda raw, edit: edit.new == '": "' and (_FALSE in edit.old or _argument.match(raw, edit.span.end)),
    "set": lambda raw, edit: _no_row.match(raw, edit.span.start),
    "square_object": lambda raw, edit: _lone_pair.match(raw, edit.span.start),
    "missing_colon": _is_listed,
    "missing_comma": lambda raw, edit: _glued_item.match(raw, edit.span.start),
    "missing_quote": lambda raw, edit: edit.old or _literal_item.match(raw, edit.span.start),
    "string_prefix": lambda raw, edit: _plain_string.match(raw, edit.span.start),
    "bad_escape": swallowed.is_before_quote,
    "smart_quotes": lambda raw, edit: _ends_within.match(raw, edit.span.start),
    "control_character": lambda raw, edit: _next_item.search(raw, max(0, edit.span.start - 200), edit.span.end + 99),
    "doubled_quote": _may_be_of_text,
    "full_width": lambda raw, edit: raw[edit.span.start - 2 : edit.span.start] == '\\"',
    "truncation": lambda _, edit: not {":", "}", "]"}.isdisjoint(edit.old),
}
"""By repair, whether an edit leaves another reading of the text open."""


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


def _brackets(raw: str, attempt: Attempt, cut: bool) -> Iterator[Flag]:
    """Brackets that were moved in the midst of a value, or put at its end; and text that was taken out."""
    core, looks = _core(raw, attempt), _LOOKS
    mended = cache(lambda: (apply(raw, attempt.span, attempt.edits), places(attempt.span, attempt.edits).begins))
    for index, edit in enumerate(attempt.edits):
        at = edit.span.start
        if edit.repair == "stray_text" or (edit.repair == "stray_mark" and _signed.match(raw, edit.span.start)):
            yield Flag("left_over", edit.span)
        elif edit.repair in _MOVED:
            looks -= 1
            if attempt.span.start < at < core or (looks >= 0 and _is_guess(raw, attempt, index, cut, mended)):
                yield Flag("closed_by_guess", edit.span)
                return


def _is_guess(raw: str, attempt: Attempt, index: int, cut: bool, mended: Callable[[], tuple[str, list[int]]]) -> bool:
    """Whether a bracket at a value's end could as well stand elsewhere, or nothing of the text closes the value.

    `mended` gives the text behind all edits and where each begins in it: made once, and only where it is needed.
    """
    edit = attempt.edits[index]
    behind = raw[edit.span.end : attempt.span.end].strip(", \t\r\n")
    if edit.repair == "mismatched_closer":
        is_of_text = raw[edit.span.end : edit.span.end + 1] == ")"  # it may be of a string, as in `f(["a"])`
        return is_of_text or raw[max(0, edit.span.start - 50) : edit.span.start].rstrip()[-1:] in ("{", "[")
    if edit.repair not in ("missing_closer", "extra_closer"):
        return False
    before = raw[max(0, edit.span.start - 2) : edit.span.start]
    in_string = before in ('}"', ']"', "}'", "]'")  # the bracket may have slipped inside
    if edit.repair == "missing_closer" and (in_string or (not behind and not cut)):
        return True
    text, begins = mended()
    at = begins[index]
    text = text[:at] + edit.old + text[at + len(edit.new) :]
    if edit.repair == "extra_closer":
        return bool(behind.strip(f"{edit.old} \t\r\n") or closed_twice(text, 0, at, len(text)))
    if not behind:
        return bool(_outermost.search(text)) or opened_twice(text)
    return opened_twice(text) or _closes_elsewhere(text, at, edit.new)


def _closes_elsewhere(text: str, at: int, bracket: str) -> bool:
    """Whether the value is sound as well where the bracket is put in before an earlier comma."""
    if len(text) > _LONG or len(bracket) != 1:
        return False
    for _ in range(_COMMAS):
        at = text.rfind(",", 0, at)
        if at < 0:
            return False
        if decode(text[:at] + bracket + text[at:]).failure is None:
            return True
    return False


def _core(raw: str, attempt: Attempt) -> int:
    """Where what a value holds ends: before its last closing brackets, and before what was taken off its end."""
    start, core = attempt.span.start, attempt.span.end
    for edit in reversed(attempt.edits):
        core = trimmed(raw, core, "}] \t\r\n", start)
        if edit.new or edit.span.end < core:
            break
        core = min(core, edit.span.start)
    return trimmed(raw, core, "}] \t\r\n", start)
