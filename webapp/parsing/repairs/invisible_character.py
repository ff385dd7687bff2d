"""A byte order mark, zero-width or exotic space between two tokens is removed."""

from __future__ import annotations

import re

from webapp.parsing.machine.repair import Repair
from webapp.parsing.machine.state import Machine


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    return machine.replace(plugin.name, match)


_SPACES = "\x0b\x0c\x1c-\x1f\x85\xa0\xad\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff"
plugin = Repair("invisible_character", f"[{_SPACES}]+", "kcva", "\x0b\x0c\x1c\x1d\x1e\x1f\x80", order=1, mend=_mend)
