"""NaN and Infinity, which JSON cannot say, become null, as JavaScript writes them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from webapp.parsing.repair import Repair

if TYPE_CHECKING:
    from webapp.parsing.machine import Machine


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    machine.patch(plugin.name, match.start(), match.end(), "null")
    machine.value_done(match.end())
    return True


plugin = Repair(
    "non_finite",
    r"[-+]?(?:NaN|nan|NAN|Infinity|infinity|inf|Inf|-?math\.(?:nan|inf)|float\([\"'](?:nan|-?inf)[\"']\))"
    r"(?=[ \t]*+(?:[,}\])\n;\"]|//|/\*|\#|```|\Z)|\s*+[,}\])])",
    "v",
    "nNiI+-mf",
    order=20,
    mend=_mend,
)
