"""A control character inside a string, a raw line break for example, is escaped."""

from __future__ import annotations

import re

from webapp.parsing.patch import Patch
from webapp.parsing.patterns import later
from webapp.parsing.repair import Repair

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


def patch(raw: str, at: int) -> Patch:
    """The escape of the control character at `at` (RFC 8259, section 7)."""
    char = raw[at]
    return Patch(at, at + 1, _SHORT.get(char) or f"\\u{ord(char):04x}", "control_character")


def _quicken(match: re.Match[str]) -> tuple[tuple[int, int, str], ...]:
    start, end = match.span(match.lastgroup or 0)
    found = _controls.finditer(match.string, start, end)
    return tuple((spot.start(), spot.end(), patch(match.string, spot.start()).new) for spot in found)


_controls = later(r"[\x00-\x1f]")
plugin = Repair(
    "control_character",
    quick=r'"(?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"(?=[ \t\r\n]*+[:,}\]])',
    quicken=_quicken,
)
