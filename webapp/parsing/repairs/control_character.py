"""A control character inside a string, a raw line break for example, is escaped."""

from __future__ import annotations

from webapp.parsing.patch import Patch
from webapp.parsing.repair import Repair

plugin = Repair("control_character")

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


def patch(raw: str, at: int) -> Patch:
    """The escape of the control character at `at` (RFC 8259, section 7)."""
    char = raw[at]
    return Patch(at, at + 1, _SHORT.get(char) or f"\\u{ord(char):04x}", "control_character")
