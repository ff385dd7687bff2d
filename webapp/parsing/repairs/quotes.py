"""Strings in other quotes, with prefixes, with escaped quotes of their own, or in several parts."""

from __future__ import annotations

import re

from webapp.parsing.machine import strings
from webapp.parsing.machine.closers import ANY_KEY
from webapp.parsing.machine.repair import mends
from webapp.parsing.machine.state import Machine
from webapp.parsing.machine.tokens import CLOSE, COLON, COMMA, JOINED, LITERAL, SPACE
from webapp.parsing.patterns import later


@mends(
    "single_quotes",
    rf"(?:'[^'\\\x00-\x1f]*+'|“[^“”\"\\\x00-\x1f]*+”)(?={SPACE}(?:(?P<colon>[{COLON}])|[{CLOSE}]|(?P<comma>[{COMMA}])))",
    "kv",
    "'“",
    order=10,
)
def single_quotes(machine: Machine, match: re.Match[str]) -> bool:
    """A string in single quotes is put in double quotes.

    The plain form, whose end its surroundings make certain; `machine.strings` reads every other one.
    """
    raw, (start, end) = machine.raw, match.span()
    if match["comma"]:
        if not (_member if machine.inside == "{" else _item).match(raw, match.end("comma"), machine.end):
            return False
    elif (match["colon"] is not None) != (machine.state == "k"):
        return False
    name = "single_quotes" if raw[start] == "'" else "smart_quotes"
    machine.patch(name, start, start + 1, '"')
    at = start
    while (at := raw.find('"', at + 1, end)) >= 0:
        machine.patch("unescaped_quote", at, at, "\\")
    machine.patch(name, end - 1, end, '"')
    return machine.string_done(end)


_member = later(rf"{SPACE}(?:{ANY_KEY}|[}}\]])")
_item = later(rf"{SPACE}(?:[\"'“\[{{\d\]-]|\([\"'\d\[{{()-]|{LITERAL})")


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


plugins = (single_quotes, escaped_quotes, string_prefix, concatenation)
