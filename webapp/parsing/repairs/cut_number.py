"""A number that the end of the text cuts after its point, exponent or sign loses that part."""

from __future__ import annotations

import re

from webapp.parsing.machine.repair import Repair
from webapp.parsing.machine.state import Machine


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    machine.truncated = machine.truncated or match.end() == machine.end
    if not match["number"]:
        return machine.replace(plugin.name, match, "null", value=True)
    machine.patch(plugin.name, match.end("number"), match.end())
    machine.value_done(match.end())
    machine.last = match.end("number")
    return True


plugin = Repair(
    "cut_number",
    r"(?P<number>-?(?:0|[1-9]\d*+)(?:\.\d++)?+)?+(?:[eE][-+]?(?=\s*+(?:[,}\]]|\Z))|(?:\.|-)(?=\s*+,?\s*+\Z))",
    "v",
    "-0123456789",
    order=15,
    mend=_mend,
)
