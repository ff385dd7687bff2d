"""A Markdown fence between two tokens is removed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from webapp.parsing.patterns import later
from webapp.parsing.repair import Repair

if TYPE_CHECKING:
    from webapp.parsing.machine import Machine


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    if not machine.frames or (machine.state == "a" and not _closer.match(machine.raw, match.end(), machine.end)):
        return False
    machine.patch(plugin.name, match.start(), match.end())
    machine.at = match.end()
    return True


_closer = later(r"\s*+[\]},]")
plugin = Repair("fence_inside", r"```[A-Za-z]{0,12}+(?=\s*+[\[{}\],\"])", "kva", "`", order=10, mend=_mend)
