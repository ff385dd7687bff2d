"""Strings joined with a plus, or by standing side by side as in Python, become one."""

from __future__ import annotations

import re

from webapp.parsing.machine import strings
from webapp.parsing.machine.repair import Repair
from webapp.parsing.machine.state import Machine
from webapp.parsing.machine.tokens import JOINED


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    raw, end, begin = machine.raw, machine.last, match.end()
    is_one_value = machine.frames and (machine.inside == "{" or machine.frames[-1].kind == "(")
    if not machine.frames or machine.string_end != end or not ("+" in match[0] or is_one_value):
        return False
    if raw[end:begin].strip(" \t\r\n+\\"):
        return False
    if machine.patches and machine.patches[-1][:2] == (end - 1, end):
        machine.patches.pop()
    return _join(machine, end - 1, begin)


def _join(machine: Machine, start: int, begin: int) -> bool:
    """Remove what stands between two strings; the second one's opening quote at `begin` goes with it."""
    machine.patch(plugin.name, start, begin + 1)
    machine.frames[-1].count -= 1
    before = len(machine.patches)
    machine.at = begin
    strings.read_string(machine, "v" if machine.inside == "{" else "i")
    machine.patches[before:] = [patch for patch in machine.patches[before:] if patch[:2] != (begin, begin + 1)]
    return True


plugin = Repair(
    "concatenation",
    rf"""\+\s*+(?:\\\n\s*+)?(?=["'`])|(?:\\\n\s{{0,99}}+)?(?<=\s)(?={JOINED})""",
    "a",
    "+\"'\\",
    order=10,
    mend=_mend,
)
