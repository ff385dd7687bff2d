"""A constructor round one value (ObjectId("…"), Decimal(1), new Date(2)) is taken off."""

from __future__ import annotations

import re

from webapp.parsing.machine.repair import Repair
from webapp.parsing.machine.state import Machine
from webapp.parsing.patterns import later


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    argument = _argument.match(machine.raw, match.end(), machine.end)
    if not argument:
        return False
    machine.patch(plugin.name, match.start(), match.end())
    machine.patch(plugin.name, argument.end(1), argument.end())
    if argument[1][0] == "'":
        start, end = argument.span(1)
        machine.patch("single_quotes", start, start + 1, '"')
        machine.patch("single_quotes", end - 1, end, '"')
    machine.value_done(argument.end())
    return True


_argument = later(
    r'\s*+("[^"\\\x00-\x1f]*+"|\'[^"\'\\\x00-\x1f]*+\'|-?(?:0|[1-9]\d*+)(?:\.\d++)?(?![\w.])|true|false|null)\s*+\)'
)
plugin = Repair("constructor", r"(?:new\s++)?[A-Za-z_][\w.]*+\(", "v", order=30, mend=_mend)
