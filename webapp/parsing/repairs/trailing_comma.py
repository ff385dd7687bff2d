"""A comma before a closing bracket is removed."""

from __future__ import annotations

from webapp.parsing.machine.repair import Repair


def _quicken(raw: str, start: int, end: int) -> tuple[tuple[int, int, str], ...]:
    return ((end - 1, end, ""),)


plugin = Repair("trailing_comma", quick=r",(?=[ \t\r\n]*+[}\]])", quicken=_quicken)
