"""A Markdown fence between two tokens is removed."""

from __future__ import annotations

import re

from webapp.parsing.machine.repair import Repair
from webapp.parsing.machine.state import Machine
from webapp.parsing.patterns import later


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    if not machine.frames or (machine.state == "a" and not _closer.match(machine.raw, match.end(), machine.end)):
        return False
    return machine.replace(plugin.name, match)


_closer = later(r"\s*+[\]},]")
plugin = Repair(
    "fence_inside",
    r"```[A-Za-z]{0,12}+(?:\s*+(?:[^`\n{}\[\]\"]{1,80}+\n\s*+)?```[A-Za-z]{0,12}+)?(?=\s*+[\[{}\],\"])",
    "kva",
    "`",
    order=10,
    mend=_mend,
)
