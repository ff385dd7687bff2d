"""A string whose own quotes have backslashes before them, among strings that have none, loses those."""

from __future__ import annotations

import re

from webapp.parsing.machine.repair import Repair
from webapp.parsing.machine.state import Machine


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    start, end = match.span()
    machine.patch(plugin.name, start, start + 1)
    machine.patch(plugin.name, end - 2, end - 1)
    if machine.state == "k":
        return machine.key_done(start, end)
    machine.value_done(end)
    machine.string_end = end
    return True


plugin = Repair(
    "escaped_quotes", r'\\"(?:[^"\\\x00-\x1f]|\\[^"\x00-\x1f])*+\\"(?=\s*+[,:}\]])', "kv", "\\", order=10, mend=_mend
)
