"""A key without quotes gets them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from webapp.parsing.repair import Repair

if TYPE_CHECKING:
    from webapp.parsing.machine import Machine


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    start, end = match.span()
    machine.patch(plugin.name, start, start, '"')
    machine.key_start, machine.key_end = start, end
    if match["quote"]:
        machine.patches.pop()
        machine.patch("missing_quote", start, start, '"')
        machine.key_end = end
    else:
        machine.patch(plugin.name, end, end, '"')
    machine.at, machine.state = end, "c"
    return True


def _quicken(match: re.Match[str]) -> tuple[tuple[int, int, str], ...]:
    start, end = match.span(match.lastgroup or 0)
    return (start, start, '"'), (end, end, '"')


plugin = Repair(
    "unquoted_key",
    r"[\w$@./-]++(?:[ ][\w$@./-]++){0,5}+(?P<quote>\")?(?=\s*+(?::|：|=>))|[\w$-]++(?P<cut>)(?=\s*+(?:\Z|[\"'“‘\[{]))",
    "k",
    order=60,
    mend=_mend,
    quick=r"[A-Za-z_$][\w$]*+(?=[ \t]*+:)",
    quicken=_quicken,
)
