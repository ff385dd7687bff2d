"""A separator or bracket of another script (：，、；｛［【) becomes the ASCII one."""

from __future__ import annotations

import re

from webapp.parsing.machine import closers
from webapp.parsing.machine.repair import Repair
from webapp.parsing.machine.state import Machine
from webapp.parsing.machine.tokens import ASCII


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    new = ASCII[match[0]]
    if new in "}]":
        closers.close(machine, new)
        return True
    if new in "{[" and machine.state == "v":
        machine.patch(plugin.name, machine.at, machine.at + 1, new)
        machine.push(new)
        return True
    if new == ":" and machine.state == "c":
        machine.state = "v"
    elif new == "," and machine.state == "a":
        machine.comma, machine.state = machine.at, "k" if machine.inside == "{" else "v"
    else:
        return False
    return machine.replace(plugin.name, match, new)


_CHARACTERS = "".join(ASCII)
plugin = Repair("full_width", f"[{_CHARACTERS}]", "kcva", _CHARACTERS, order=10, mend=_mend)
