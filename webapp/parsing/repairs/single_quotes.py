"""A string in single quotes is put in double quotes."""

from __future__ import annotations

from webapp.parsing.machine.repair import Repair


def _quicken(raw: str, start: int, end: int) -> tuple[tuple[int, int, str], ...]:
    return (start, start + 1, '"'), (end - 1, end, '"')


plugin = Repair("single_quotes", quick=r"""'[^'"\\\x00-\x1f]*+'(?=[ \t\r\n]*+[:,}\]])""", quicken=_quicken)
