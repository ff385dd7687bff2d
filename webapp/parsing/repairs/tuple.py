"""A Python tuple becomes an array; round brackets that hold one value go."""

from __future__ import annotations

import re

from webapp.parsing.machine.repair import Repair
from webapp.parsing.machine.state import Machine


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    if not machine.frames and not machine.lenient:
        return False
    machine.patch(plugin.name, machine.at, machine.at + 1, "[")
    machine.push("(", as_kind="[")
    return True


plugin = Repair("tuple", r"\(", "v", "(", mend=_mend)
