"""Braces written twice, as templates ask for, are written once."""

from __future__ import annotations

import re

from webapp.parsing.machine.repair import Repair
from webapp.parsing.machine.state import Machine


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    frame = machine.frames[-1]
    if frame.count or machine.comma >= 0 or frame.start + 1 != machine.at or frame.doubled:
        return False
    machine.patch(plugin.name, frame.start, frame.start + 1)
    frame.start, frame.doubled = machine.at, True
    machine.at += 1
    return True


plugin = Repair("doubled_brace", r"\{", "k", "{", order=10, mend=_mend)
