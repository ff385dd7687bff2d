"""Strings joined with a plus, or by standing side by side as in Python, become one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from webapp.parsing.repair import Repair

if TYPE_CHECKING:
    from webapp.parsing.machine import Machine


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    raw, end = machine.raw, machine.last
    if not machine.frames or raw[end - 1] != '"' or raw[match.end()] != '"':
        return False
    string = _string.match(raw, match.end(), machine.end)
    if not string or ("+" not in match[0] and machine.inside != "{"):
        return False
    machine.patch(plugin.name, end - 1, match.end() + 1)
    machine.at = machine.last = string.end()
    return True


_string = re.compile(r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrtu])*+"')
plugin = Repair("concatenation", r'\+\s*+(?=")|(?="[^"\n]*+"\s*+[},])', "a", '+"', order=10, mend=_mend)
