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
    end = len(match[0].rstrip()) + match.start()
    if match[0][:2] != "/*" and machine.frames and match.end() == machine.end:
        end = _before_closer(match[0], match.start()) or end
    machine.patch(plugin.name, match.start(), end)
    machine.at = end
    return True


def _before_closer(text: str, start: int) -> int:
    """A line comment that no line's end ends stops at the first closing bracket, with which the value goes on."""
    found = _closer.search(text)
    return start + found.start() if found else 0


_closer = re.compile(r"\s*[}\]]")


def _quicken(match: re.Match[str]) -> tuple[tuple[int, int, str], ...]:
    start, end = match.span(match.lastgroup or 0)
    return ((start, end, ""),)


plugin = Repair(
    "comment",
    r"//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)|#[^\n]*+|<!--(?:[^-]|-(?!->))*+-->",
    "kcva",
    "/#<",
    order=5,
    mend=_mend,
    quick=r"//[^\n\r]*+(?=[\r\n])|/\*[^*/]*+\*/",
    quicken=_quicken,
)
