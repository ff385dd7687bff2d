"""A control character inside a string, a raw line break for example, is escaped."""

from __future__ import annotations

from webapp.parsing.machine.escapes import control
from webapp.parsing.machine.repair import Repair
from webapp.parsing.patterns import later


def _quicken(raw: str, start: int, end: int) -> tuple[tuple[int, int, str], ...]:
    places = [match.start() for match in _controls.finditer(raw, start, end)]
    return tuple((at, at + 1, control(raw, at).new) for at in places)


_controls = later(r"[\x00-\x1f]")
plugin = Repair(
    "control_character",
    quick=r'"(?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"(?=[ \t\r\n]*+[:,}\]])',
    quicken=_quicken,
)
