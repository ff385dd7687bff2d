"""Quotes that lost their meaning: strings without a closing quote, and quotes that are of a string's text."""

from __future__ import annotations

from webapp.parsing.machine import string_end, tokens
from webapp.parsing.machine.state import Machine, StringReading
from webapp.parsing.machine.tokens import LITERAL, OPENERS
from webapp.parsing.patterns import later

_rest_of_key = later(r"""[^"'\\\n{}\[\]:,]{1,60}+["'”]\s{0,50}+:""")
_rest_of_items = later(
    r"""[^"'\\\n\[\]]{1,60}+["'](?:\s{0,50}+,\s{0,50}+(?:"[^"\\\n]{0,60}+"|'[^'\\\n]{0,60}+')){0,20}+\s{0,50}+\]"""
)
_key_text = later(r"""[^:"',{}\[\]\n]{1,60}+['’`]?(?=\s{0,20}+:)""")
_single_key = later(r"""(?:['’`]\s{0,20}+(?:[}\]]\s{0,60}+){0,4})?,\s{0,60}+'[^'"\\\n{}\[\]:,]{1,60}+'\s{0,20}+:""")
_next_line_key = later(r"""\n\s{0,200}+["'][^"'\n]{1,80}+["']\s{0,50}+:""")
_next_line_item = later(r"""\n\s{0,200}+(["'])[^"'\n]{0,300}+\1\s{0,50}+[,\]\n]""")
apostrophe = later(r"(?<=[^\W_])['’](?=[^\W\d_])")
_other_closer = later(r"""['’`]\s{0,20}+(?:[}\]]\s{0,60}+){1,4},\s{0,60}\Z""")
_other_quotes = later(r"(?<!\w)['’`]|['’`](?!\w)|[„“”]")
_spaced_comma = later(r"""(?:,\s{0,60}|\n\s{0,200})\Z""")


def opens_next(machine: Machine, reading: StringReading, at: int) -> int:
    """Where the string should have ended if the quote at `at` opens what comes next: `"a": "b, "c": 1`; else -1."""
    if reading.where != "k" and not reading.inner and machine.raw[reading.start] != "'":
        closer = _other_closer.search(machine.raw, max(reading.open_end, at - 200), at)
        if closer and closed_by_another(machine.raw, reading, closer.start() + 1):
            return closer.start() + 1 if _rest_of_key.match(machine.raw, at + 1, machine.end) else -1
    return (_key_without_quote if reading.where == "k" else _opens_behind_comma)(machine, reading, at)


def closed_by_another(raw: str, reading: StringReading, at: int) -> bool:
    """Whether a quote of another kind, of which none is open in the string, stands right before `at`."""
    return at - 1 > reading.open_end and raw[at - 1] in "'’`“" and is_alone(raw, reading.open_end, at)


def is_alone(raw: str, start: int, end: int) -> bool:
    """Whether one of the quotes other than double ones in `raw[start:end]` has no second half there."""
    return len(_other_quotes.findall(raw, start, end)) % 2 == 1


def swallowed_key(machine: Machine, reading: StringReading, at: int) -> int:
    """Where the string should have ended if a key in single quotes stands in it before `at`, and no brace; else -1."""
    raw = machine.raw
    match = _single_key.search(raw, reading.open_end, at) if reading.where != "k" else None
    machine.look -= at - reading.open_end
    if not match or raw.find("{", reading.open_end, match.start()) >= 0:
        return -1
    return match.start() + (raw[match.start()] in "'’`")


def _opens_behind_comma(machine: Machine, reading: StringReading, at: int) -> int:
    """The same of what stands behind a comma, or for a key on the next line: it ends before that."""
    raw, is_item = machine.raw, reading.where == "i"
    rest = _rest_of_items if is_item else _rest_of_key
    if not (raw[at - 1] == "," or raw[at - 1].isspace()) or not rest.match(raw, at + 1, machine.end):
        return -1
    before = _spaced_comma.search(raw, max(reading.open_end, at - 210), at)
    if not before or before.start() <= reading.open_end or raw[before.start() - 1] in '\\"':
        return -1
    if reading.opened(raw, "{}", at) > 0 or (is_item and (reading.inner or raw[before.start()] != ",")):
        return -1
    low = max(reading.open_end, before.start() - 200)
    return low + len(raw[low : before.start()].rstrip(", \t\r\n"))


def _key_without_quote(machine: Machine, reading: StringReading, at: int) -> int:
    """A key's string that reaches past its colon lacks its closing quote: `{"a: 1, "b": 2}`."""
    if string_end.slipped_inside(machine, reading, at):
        return -1
    colon = colon_inside(machine, reading)
    return colon if reading.open_end < colon < at else -1


def colon_inside(machine: Machine, reading: StringReading) -> int:
    """Where a key that swallowed its colon should have ended, or -1."""
    match = _key_text.match(machine.raw, reading.open_end, machine.end)
    return match.end() if match else -1


def line_ends_it(machine: Machine, reading: StringReading, at: int) -> int:
    """Where the string ended if at the line break at `at` a new member or item begins, or its first line has one."""
    raw, end = machine.raw, machine.end
    if raw.find("\n", reading.open_end, at) < 0 and (stop := swallowed_key(machine, reading, at)) >= 0:
        return stop
    if reading.where == "k" or reading.inner % 2 or reading.opened(raw, "{}", at) > 0:
        return -1
    next_line = (_next_line_key if reading.where == "v" else _next_line_item).match(raw, at, end)
    low = max(reading.open_end, at - 200)
    return low + len(raw[low:at].rstrip(", \t\r")) if next_line and machine.look >= 0 else -1


def end_of_unclosed(machine: Machine, reading: StringReading) -> int:
    """Where a string ends that nothing closes: before the closers that fit at the text's end, else at that end."""
    raw, end = machine.raw, machine.end
    at, depth = end, len(machine.frames)
    while at > reading.open_end and end - at < 300 and (raw[at - 1].isspace() or (raw[at - 1] in "}]" and depth)):
        at -= 1
        depth -= raw[at] in "}]"
    closers = [char for char in raw[at:end] if char in "}]"]
    needed = [OPENERS[frame.kind] for frame in reversed(machine.frames[-len(closers) :])] if closers else []
    opened = raw.count("{", reading.open_end, at) > raw.count("}", reading.open_end, at)
    if not closers or closers != needed or opened:
        return end
    literal = _literal_item.search(raw, max(reading.open_end + 1, at - 9), at) if reading.where == "i" else None
    return literal.start() if literal else at


_literal_item = later(rf",[ ]?{LITERAL}\Z")


_FAR = 2_000
"""characters of JSON in a string that are looked through"""
_IN_VAIN = 8
"""how much more a look costs that finds no end"""
_LONG_RUN = 4
_embedded_later = later(r"""(["'])[^"'\\\n]{1,80}+\1\s{0,20}+:\s{0,20}+["'\[{\d-]""")
_four = later(r'"{4}(?!")')
_three_and_end = later(r'"{3}(?!")\s{0,1000}+(?:[,}\]]|\Z)')


def opens_with_three(machine: Machine) -> bool:
    """Whether the four quotes at `machine.at` open a string whose text begins with three: code with a docstring.

    A string in triple quotes whose text begins with a quote ends with three of them.
    """
    raw, at, end = machine.raw, machine.at, machine.end
    if not _four.match(raw, at, end):
        return False
    closing = raw.find('"""', at + _LONG_RUN, end)
    return closing < 0 or not _three_and_end.match(raw, closing, end)


def inside_until(machine: Machine, reading: StringReading, at: int) -> int:
    """How far the quotes from the one at `at` on are of the text: `at` itself where that one may close the string."""
    raw = machine.raw
    if _embedded_later.match(raw, at, machine.end):
        opener = raw.rfind("{", max(reading.open_end, at - (40 if raw[reading.open_end] == "{" else 3)), at)
        if opener >= 0 and not raw[opener + 1 : at].replace("\\n", "").strip():
            return max(at, _balanced_end(machine, opener, _FAR))
    is_in_run = raw.startswith('"', at + 1) and is_of_text(raw, reading.open_end, at)
    return at + 1 if is_in_run else at


def is_written_twice(raw: str, reading: StringReading, at: int) -> bool:
    """Whether the quote at `at` is the first of two that stand for one in a text, as SQL and CSV write it: `it''s`."""
    twice = _twice.match(raw, at)
    if not twice or at == reading.open_end or raw[at - 1] == raw[at]:
        return False
    if raw[at] == '"' and reading.where != "v" and not reading.twice and not _twice_again.match(raw, at + 2):
        return False  # two strings side by side, of which the second is a value: `["a""b"]`
    if reading.where == "v" and raw[at - 1] not in ", \t\r\n" and _glued_key.match(raw, at + 1):
        return False
    if twice["ends"] is not None and not reading.twice % 2:
        return False
    if twice["word"] is not None or reading.twice % 2:
        return True
    return raw[at - 1].isalpha() and not _prefix.search(raw, max(reading.open_end, at - 2), at)


_glued_key = later(r"""(["'])\w[^"'\n]{0,60}+\1\s{0,20}+:\s{0,20}+["'\[{\d-]""")
_twice = later(
    r"""(["'])\1(?:(?P<ends>\1?+\s{0,50}+(?:[,:}\]]|\Z))|(?!["'])(?P<word>[^\W\d]|[$#@/<-](?=[^"'\n]{1,200}+\1\1))?+)"""
)
_twice_again = later(r'[^"\n]{1,200}+""')
_prefix = later(r"(?<![^\W\d])[bfruBFRU]\Z")


def _balanced_end(machine: Machine, start: int, most: int) -> int:
    if machine.look < 0:
        return -1
    limit = min(machine.end, start + most)
    end = tokens.balanced_end(machine.raw, start, limit)
    machine.look -= _IN_VAIN * (limit - start) if end < 0 else max(end - start, 100)
    return end


def is_of_text(raw: str, start: int, at: int) -> bool:
    """Whether the quote at `at` is one of four or more side by side in `raw[start:]`, or of three behind code.

    All but the last of them are of a string's text: code that ends with a docstring or an empty string.
    """
    low, high = at, at + 1
    while low > start and raw[low - 1] == '"' and high - low < _LONG_RUN:
        low -= 1
    while high - low < _LONG_RUN and raw.startswith('"', high):
        high += 1
    is_docstring = high - low == _LONG_RUN - 1 and _code.search(raw, max(start, low - 40), low)
    return high - low == _LONG_RUN or bool(is_docstring)


_code = later(r"(?:[=(+]|= ?[\w.()\[\]]{1,30}+,|(?:\b|\\[nt])(?:return|else|or|and|in)) ?[bfru]?\Z")
