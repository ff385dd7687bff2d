"""A comment, of JavaScript, C, Python or HTML, is removed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from webapp.parsing.repair import Repair

if TYPE_CHECKING:
    from webapp.parsing.machine import Machine


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    if match[0].startswith("/") and machine.state == "v" and match[0][1] not in "/*":
        return False
    machine.patch(plugin.name, match.start(), len(match[0].rstrip()) + match.start())
    machine.at = match.end()
    return True


plugin = Repair(
    "comment",
    r"//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)|#[^\n]*+|<!--(?:[^-]|-(?!->))*+-->",
    "kcva",
    "/#<",
    order=5,
    mend=_mend,
)
