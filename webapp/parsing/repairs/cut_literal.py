"""A literal that the end of the text cuts in the middle is completed."""

from __future__ import annotations

import re

from webapp.parsing.machine.repair import Repair
from webapp.parsing.machine.state import Machine

_WORDS = ("true", "false", "null")


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    text = match[0]
    whole = next((word for word in _WORDS if word.startswith(text)), None)
    if not machine.frames or whole is None or whole == text:
        return False
    machine.patch(plugin.name, match.end(), match.end(), whole[len(text) :])
    machine.truncated = True
    machine.value_done(match.end())
    return True


plugin = Repair("cut_literal", r"[a-z]{1,4}\Z", "v", "tfn", order=15, mend=_mend)
