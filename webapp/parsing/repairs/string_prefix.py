"""The letter before a Python string (u'…', b'…', r'…') is removed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from webapp.parsing.repair import Repair

if TYPE_CHECKING:
    from webapp.parsing.machine import Machine


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    machine.patch(plugin.name, match.start(), match.end())
    machine.at = match.end()
    return True


plugin = Repair("string_prefix", r"[uUbBrRfF]{1,2}(?=[\"'](?![,\]:}]))", "kv", "uUbBrRfF", order=10, mend=_mend)
