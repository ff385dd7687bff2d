"""Quotes that are of a string's text, whatever follows them: those of JSON or a dict in it, and runs of them."""

from __future__ import annotations

from webapp.parsing.machine import tokens
from webapp.parsing.machine.state import Machine, Reading
from webapp.parsing.patterns import later

_FAR = 2_000
"""characters of JSON in a string that are looked through"""
_IN_VAIN = 8
"""how much more a look costs that finds no end"""
_LONG_RUN = 4
_embedded_later = later(r"""\"[^"\\\n]{1,80}+"\s{0,20}+:\s{0,20}+["\[{\d-]""")
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


def inside_until(machine: Machine, reading: Reading, at: int) -> int:
    """How far the quotes from the one at `at` on are of the text: `at` itself where that one may close the string."""
    raw = machine.raw
    before = raw[at - 1] if at > reading.open_end else ""
    if before in ("{", " ") and _embedded_later.match(raw, at, machine.end):
        opener = raw.rfind("{", max(reading.open_end, at - 3), at)
        if opener >= 0 and not raw[opener + 1 : at].strip():
            return max(at, _balanced_end(machine, opener, _FAR))
    is_in_run = raw.startswith('"', at + 1) and is_of_text(raw, reading.open_end, at)
    return at + 1 if is_in_run else at


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
    if high - low < _LONG_RUN:
        return high - low == _LONG_RUN - 1 and bool(_code.search(raw, max(start, low - 11), low))
    return True


_code = later(r"(?:[=(+]|(?:\b|\\[nt])return) ?[bfru]?\Z")
