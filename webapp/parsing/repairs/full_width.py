"""A full-width colon, comma or bracket becomes its ASCII form."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from webapp.parsing.repair import Repair

if TYPE_CHECKING:
    from webapp.parsing.machine import Machine


_ASCII = {"：": ":", "，": ",", "、": ",", "；": ",", "｛": "{", "｝": "}", "［": "[", "］": "]", "【": "[", "】": "]"}


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    at, new = machine.at, _ASCII[match[0]]
    if new == ":" and machine.state == "c":
        machine.state = "v"
    elif new == "," and machine.state == "a":
        machine.comma, machine.state = at, "k" if machine.inside == "{" else "v"
    else:
        return False
    machine.patch(plugin.name, at, at + 1, new)
    machine.at += 1
    return True


plugin = Repair("full_width", "[：，、；]", "ca", "：，、；", order=10, mend=_mend)
