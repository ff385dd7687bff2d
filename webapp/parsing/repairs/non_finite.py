"""NaN and Infinity, which JSON cannot say, become null, as JavaScript writes them."""

from __future__ import annotations

from webapp.parsing.machine.repair import Repair, replacing
from webapp.parsing.machine.tokens import DELIMITED

plugin = Repair(
    "non_finite",
    r"[-+]?(?:NaN|nan|NAN|Infinity|infinity|inf|Inf|-?math\.(?:nan|inf)|float\([\"'](?:nan|-?inf)[\"']\))" + DELIMITED,
    "v",
    "nNiI+-mf",
    order=20,
    mend=replacing("non_finite", "null", value=True),
)
