"""A string in single quotes is put in double quotes."""

from __future__ import annotations

import re

from webapp.parsing.repair import Repair


def _quicken(match: re.Match[str]) -> tuple[tuple[int, int, str], ...]:
    end = match.end()
    start = match.start(match.lastgroup or 0)
    return (start, start + 1, '"'), (end - 1, end, '"')


plugin = Repair("single_quotes", quick=r"""'[^'"\\\x00-\x1f]*+'(?=[ \t\r\n]*+[:,}\]])""", quicken=_quicken)
