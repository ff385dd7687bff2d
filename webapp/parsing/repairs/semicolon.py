"""A semicolon between members or before a closing bracket becomes a comma or goes."""

from __future__ import annotations

import re

from webapp.parsing.machine.repair import Repair
from webapp.parsing.machine.state import Machine


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    if not machine.frames:
        return False
    closes = match["closes"] is not None
    machine.patch(plugin.name, machine.at, machine.at + 1, "" if closes else ",")
    if not closes:
        machine.comma, machine.state = machine.at, "k" if machine.inside == "{" else "v"
    machine.at += 1
    return True


plugin = Repair("semicolon", r";(?=\s{0,100}+(?:[\"'A-Za-z_$\d{\[-]|(?P<closes>[}\]])))", "a", ";", mend=_mend)
