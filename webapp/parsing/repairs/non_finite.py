"""NaN and Infinity, which JSON cannot say, become null, as JavaScript writes them."""

from __future__ import annotations

import re

from webapp.parsing.machine.repair import Repair
from webapp.parsing.machine.state import Machine
from webapp.parsing.machine.tokens import DELIMITED


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    return machine.replace(plugin.name, match, "null", value=True)


plugin = Repair(
    "non_finite",
    r"[-+]?(?:NaN|nan|NAN|Infinity|infinity|inf|Inf|-?math\.(?:nan|inf)|float\([\"'](?:nan|-?inf)[\"']\))" + DELIMITED,
    "v",
    "nNiI+-mf",
    order=20,
    mend=_mend,
)
