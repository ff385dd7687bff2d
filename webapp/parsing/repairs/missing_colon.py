"""A key without a colon gets one; an arrow or an equals sign in its place becomes one."""

from __future__ import annotations

import re

from webapp.parsing.machine.repair import Repair
from webapp.parsing.machine.state import Machine
from webapp.parsing.machine.tokens import COLON_LIKE


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    machine.state = "v"
    return machine.replace(plugin.name, match, ":")


plugin = Repair("missing_colon", COLON_LIKE, "c", "=:-|→ie", mend=_mend)
