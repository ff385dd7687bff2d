"""The letter before a Python string (u'…', b'…', r'…') is removed."""

from __future__ import annotations

import re

from webapp.parsing.machine.repair import Repair
from webapp.parsing.machine.state import Machine


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    return machine.replace(plugin.name, match)


plugin = Repair("string_prefix", r"[uUbBrRfF]{1,2}(?=[\"'](?![,\]:}]))", "kv", "uUbBrRfF", order=10, mend=_mend)
