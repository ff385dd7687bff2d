"""Text between two tokens that is part of neither is removed."""

from __future__ import annotations

import re

from webapp.parsing.machine.repair import Repair
from webapp.parsing.machine.state import Machine


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    if machine.frames[-1].count == 0:
        return False
    return machine.replace(plugin.name, match)


_QUOTES = r"\"{2,4}(?=\s{1,20}+\"[^\"\n]{1,80}+\"\s{0,20}+:)"
_KEY = r"""(["'])[^"'\n]{1,80}+\1\s{0,20}+:"""
plugin = Repair(
    "stray_text",
    rf"[A-Za-z_(][\w .,()'-]{{0,60}}+(?:(?<=\s)|\n\s*+)(?={_KEY})|{_QUOTES}",
    "k",
    '(_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"',
    order=40,
    mend=_mend,
)
