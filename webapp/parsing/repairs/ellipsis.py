"""Dots that stand for what was left out are removed; what they stand for is unknown."""

from __future__ import annotations

import re

from webapp.parsing.machine.repair import Repair
from webapp.parsing.machine.state import Machine
from webapp.parsing.patterns import later


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    after = match.end()
    if machine.state == "v" and machine.inside == "{":
        return False
    start = match.start()
    if machine.comma >= 0:
        machine.unpatch(machine.comma, machine.comma + 1)
        if machine.patches and machine.patches[-1].end > machine.comma:
            machine.patch(plugin.name, machine.comma, machine.comma + 1)
        else:
            start = machine.comma
        machine.comma, machine.state = -1, "a"
    elif machine.state in "kv" and (comma := _comma.match(machine.raw, after, machine.end)):
        after = comma.end()
    machine.patch(plugin.name, start, after)
    machine.at = after
    return True


_comma = later(r"\s{0,100}+,")
plugin = Repair(
    "ellipsis", r"(?:\.{3,}|…|\[\.\.\.\]|<\.\.\.>)(?=\s*+(?:[,}\]]|//|/\*|\Z))", "kva", ".…[<", order=8, mend=_mend
)
