"""A literal of Python, JavaScript or another language (True, None, undefined) becomes JSON's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from webapp.parsing.repair import Repair

if TYPE_CHECKING:
    from webapp.parsing.machine import Machine


_JSON = {"true": "true", "false": "false", "null": "null", "none": "null", "undefined": "null", "nil": "null"}


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    if match[0] not in ("true", "false", "null"):
        machine.patch(plugin.name, match.start(), match.end(), _JSON[match[0].lower()])
    machine.value_done(match.end())
    return True


def _quicken(match: re.Match[str]) -> tuple[tuple[int, int, str], ...]:
    word = match[match.lastgroup or 0]
    return ((match.end() - len(word), match.end(), _JSON[word.lower()]),)


plugin = Repair(
    "literal",
    r"(?i:true|false|null|none|undefined|nil)\b(?=[ \t]*+(?:[,}\])\n;\"]|//|/\*|\#|```|\Z)|\s*+[,}\])])",
    "v",
    "tTfFnNuU",
    order=20,
    mend=_mend,
    quick=r"(?:True|False|None|TRUE|FALSE|NULL|undefined)(?=[ \t\r\n]*+[,}\]])",
    quicken=_quicken,
)
