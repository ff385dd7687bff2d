"""A key without a colon gets one; an arrow or an equals sign in its place becomes one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from webapp.parsing.repair import Repair

if TYPE_CHECKING:
    from webapp.parsing.machine import Machine


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    machine.patch(plugin.name, match.start(), match.end(), ":")
    machine.at, machine.state = match.end(), "v"
    return True


plugin = Repair("missing_colon", r"=>?|:=|->", "c", "=:-", mend=_mend)
