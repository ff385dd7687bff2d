"""A Python tuple becomes an array."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from webapp.parsing.repair import Repair

if TYPE_CHECKING:
    from webapp.parsing.machine import Machine


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    if not machine.frames:
        return False
    machine.patch(plugin.name, machine.at, machine.at + 1, "[")
    machine.push("(", as_kind="[")
    return True


plugin = Repair("tuple", r"\(", "v", "(", mend=_mend)
