"""A bullet before a key is removed."""

from __future__ import annotations

import re

from webapp.parsing.machine.repair import Repair
from webapp.parsing.machine.state import Machine


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    machine.patch(plugin.name, machine.at, match.end(), "")
    machine.at = match.end()
    return True


plugin = Repair("bullet", r'[-*•]\s{1,9}+(?=")', "k", "-*•", order=10, mend=_mend, opens=r'[-*•]\s{1,9}+"')
