"""Strings with prefixes, with escaped quotes of their own, or in several parts."""

from __future__ import annotations

import re

from webapp.parsing.machine import strings
from webapp.parsing.machine.repair import mends
from webapp.parsing.machine.state import Machine
from webapp.parsing.machine.tokens import JOINED


@mends("escaped_quotes", r'\\"(?:[^"\\\x00-\x1f]|\\[^"\x00-\x1f])*+\\"(?=\s*+[,:}\]])', "kv", "\\", order=10)
def escaped_quotes(machine: Machine, match: re.Match[str]) -> bool:
    """A string whose own quotes have backslashes before them, among strings that have none, loses those."""
    start, end = match.span()
    machine.patch("escaped_quotes", start, start + 1)
    machine.patch("escaped_quotes", end - 2, end - 1)
    return machine.string_done(end)


@mends(
    "concatenation",
    rf"""\+\s*+(?:\\\n\s*+)?(?=["'`])|(?:\\\n\s{{0,99}}+)?(?<=\s)(?={JOINED})""",
    "a",
    "+\"'\\",
    order=10,
)
def concatenation(machine: Machine, match: re.Match[str]) -> bool:
    """Strings joined with a plus, or by standing side by side as in Python, become one."""
    raw, end, begin = machine.raw, machine.last, match.end()
    goes_on = raw[end - 2].isspace() or raw[begin + 1 : begin + 2].isspace()  # `["SELECT a " "FROM b"]`
    is_one_value = goes_on or machine.inside == "{" or machine.frames[-1].kind == "("
    if machine.string_end != end or not ("+" in match[0] or is_one_value):
        return False
    if machine.patches and machine.patches[-1].span == (end - 1, end):
        machine.patches.pop()
    return _join(machine, end - 1, begin)


def _join(machine: Machine, start: int, begin: int) -> bool:
    """Remove what stands between two strings; the second one's opening quote at `begin` goes with it."""
    machine.patch("concatenation", start, begin + 1)
    machine.frames[-1].count -= 1
    before = len(machine.patches)
    machine.at = begin
    strings.read_string(machine, "v" if machine.inside == "{" else "i")
    machine.patches[before:] = [patch for patch in machine.patches[before:] if patch.span != (begin, begin + 1)]
    return True


@mends(
    "string_prefix",
    r"[uUbBrRfF]{1,2}(?=[\"'](?!\s{0,100}+[,\]:}]))",
    "kv",
    "uUbBrRfF",
    order=10,
    opens=r"[uUbB]'[^'\n]{1,80}+'\s*+[:,\]]",
)
def string_prefix(machine: Machine, match: re.Match[str]) -> bool:
    """The letter before a Python string (u'…', b'…', r'…') is removed."""
    return machine.replace("string_prefix", match)


plugins = (escaped_quotes, string_prefix, concatenation)
