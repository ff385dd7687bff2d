"""A string in single quotes is put in double quotes."""

from __future__ import annotations

import re

from webapp.parsing.machine.closers import ANY_KEY
from webapp.parsing.machine.repair import Repair
from webapp.parsing.machine.state import Machine
from webapp.parsing.machine.tokens import LITERAL, SPACE
from webapp.parsing.patterns import later


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    """The plain form, whose end its surroundings make certain; `machine.strings` reads every other one."""
    raw, (start, end) = machine.raw, match.span()
    if match["comma"]:
        if not (_member if machine.inside == "{" else _item).match(raw, match.end("comma"), machine.end):
            return False
    elif (match["colon"] is not None) != (machine.state == "k"):
        return False
    machine.patch(plugin.name, start, start + 1, '"')
    at = start
    while (at := raw.find('"', at + 1, end)) >= 0:
        machine.patch("unescaped_quote", at, at, "\\")
    machine.patch(plugin.name, end - 1, end, '"')
    if machine.state == "k":
        return machine.key_done(start, end)
    machine.string_end = end
    machine.value_done(end)
    return True


_member = later(rf"{SPACE}(?:{ANY_KEY}|[}}\]])")
_item = later(rf"{SPACE}(?:[\"'\[{{\d\]-]|{LITERAL})")
plugin = Repair(
    "single_quotes",
    rf"'[^'\\\x00-\x1f]*+'(?={SPACE}(?:(?P<colon>:)|[}}\]]|(?P<comma>,)))",
    "kv",
    "'",
    order=10,
    mend=_mend,
)
