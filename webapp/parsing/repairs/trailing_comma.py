"""A comma before a closing bracket is removed."""

from __future__ import annotations

import re

from webapp.parsing.repair import Repair


def _quicken(match: re.Match[str]) -> tuple[tuple[int, int, str], ...]:
    return ((match.end() - 1, match.end(), ""),)


plugin = Repair("trailing_comma", quick=r",(?=[ \t\r\n]*+[}\]])", quicken=_quicken)
