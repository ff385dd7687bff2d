"""A key without quotes gets them."""

from __future__ import annotations

import re

from webapp.parsing.machine.repair import Repair
from webapp.parsing.machine.state import Machine
from webapp.parsing.machine.tokens import COLON


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    start, end = match.span()
    if match["quote"]:
        machine.patch("missing_quote", start, start, '"')
        if match["quote"] == "'":
            machine.patch("single_quotes", end - 1, end, '"')
    else:
        machine.patch(plugin.name, start, start, '"')
        machine.patch(plugin.name, end, end, '"')
    return machine.key_done(start, end)


plugin = Repair(
    "unquoted_key",
    r"[\w$@./-]++(?:[ ][\w$@./-]++){0,5}+(?P<quote>[\"'])?(?=\s*+(?:["
    + COLON
    + r"]|=>))|[\w$-]++(?P<cut>)(?=\s*+(?:\Z|[\"'“‘\[{]))",
    "k",
    order=60,
    mend=_mend,
)
