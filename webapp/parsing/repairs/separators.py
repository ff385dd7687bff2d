"""Colons, commas and brackets: those of other notations, and those that stand twice or round one value."""

from __future__ import annotations

import re

from webapp.parsing.machine import closers
from webapp.parsing.machine.repair import mends
from webapp.parsing.machine.state import Machine
from webapp.parsing.machine.tokens import ASCII, COLON_LIKE, FLAT, LETTERS, NUMBER, QUOTED
from webapp.parsing.patterns import later


@mends("missing_colon", COLON_LIKE, "c", "=:-|;→ie")
def missing_colon(machine: Machine, match: re.Match[str]) -> bool:
    """A key without a colon gets one; an arrow or an equals sign in its place becomes one."""
    machine.state = "v"
    return machine.replace("missing_colon", match, ":")


@mends(
    "semicolon",
    r"[;|](?=\s{0,100}+(?:[\"'A-Za-z_$\d{\[-]|(?P<closes>[}\]])))|\.(?=\s{1,100}+[\"'])",
    "a",
    ";|.",
    order=17,
)
def semicolon(machine: Machine, match: re.Match[str]) -> bool:
    """A semicolon, a bar or a dot between members or before a closing bracket becomes a comma or goes."""
    closes = match["closes"] is not None
    machine.patch("semicolon", machine.at, machine.at + 1, "" if closes else ",")
    if not closes:
        machine.comma_read(machine.at)
    machine.at += 1
    return True


_CHARACTERS = "".join(ASCII)


@mends("full_width", f"[{_CHARACTERS}]", "kcva", _CHARACTERS, order=10)
def full_width(machine: Machine, match: re.Match[str]) -> bool:
    """A separator or bracket of another script (：，、；｛［【) becomes the ASCII one."""
    new = ASCII[match[0]]
    if new in "}]":
        closers.close(machine, new)
        return True
    if new in "{[" and machine.state == "v":
        machine.patch("full_width", machine.at, machine.at + 1, new)
        machine.push(new)
        return True
    if new == ":" and machine.state == "c":
        machine.state = "v"
    elif new == "," and machine.state == "a":
        machine.comma_read(machine.at)
    else:
        return False
    return machine.replace("full_width", match, new)


@mends("doubled_brace", rf'\{{|"\{{(?={QUOTED}\s*+:)', "k", '{"', order=10)
def doubled_brace(machine: Machine, match: re.Match[str]) -> bool:
    """Braces written twice, as templates ask for, are written once; so is a beginning written twice (`{"{"a": 1}`)."""
    frame = machine.frames[-1]
    if frame.count or machine.comma >= 0 or frame.start + 1 != machine.at or frame.doubled:
        return False
    if match[0] == '"{':
        return machine.replace("doubled_brace", match)
    machine.patch("doubled_brace", frame.start, frame.start + 1)
    frame.start, frame.doubled = machine.at, True
    machine.at += 1
    return True


@mends("tuple", r"\((?![\w\s,]{0,80}\)\s?=>)", "v", "(")
def round_brackets(machine: Machine, match: re.Match[str]) -> bool:
    """A Python tuple becomes an array, round brackets that hold keys an object; those that hold one value go."""
    machine.patch("tuple", machine.at, machine.at + 1, "[")
    machine.push("(", as_kind="[")
    return True


@mends("constructor", r"(?:new\s++)?[A-Za-z_][\w.]*+\(", "v", LETTERS, order=30)
def constructor(machine: Machine, match: re.Match[str]) -> bool:
    """A constructor round one value (ObjectId("…"), Decimal(1), new Date(2)) is taken off."""
    argument = _argument.match(machine.raw, match.end(), machine.end)
    if not argument:
        return False
    machine.patch("constructor", match.start(), match.end())
    machine.patch("constructor", argument.end(1), argument.end())
    if argument[1][0] == "'":
        start, end = argument.span(1)
        machine.patch("single_quotes", start, start + 1, '"')
        machine.patch("single_quotes", end - 1, end, '"')
    machine.value_done(argument.end())
    return True


_argument = later(rf"\s*+(\"[^\"\\\x00-\x1f]*+\"|'[^\"'\\\x00-\x1f]*+'|{NUMBER}(?![\w.])|true|false|null|{FLAT})\s*+\)")


plugins = (missing_colon, semicolon, full_width, doubled_brace, round_brackets, constructor)
