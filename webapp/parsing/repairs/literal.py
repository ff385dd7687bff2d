"""A literal of Python, JavaScript or another language (True, None, undefined) becomes JSON's."""

from __future__ import annotations

import re

from webapp.parsing.machine.repair import Repair
from webapp.parsing.machine.state import Machine
from webapp.parsing.machine.tokens import DELIMITED

_JSON = {"true": "true", "false": "false", "null": "null", "none": "null", "undefined": "null", "nil": "null"}


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    if match[0] not in ("true", "false", "null"):
        machine.patch(plugin.name, match.start(), match.end(), _JSON[match[0].lower()])
    machine.value_done(match.end())
    return True


plugin = Repair(
    "literal",
    r"(?i:true|false|null|none|undefined|nil)\b" + DELIMITED,
    "v",
    "tTfFnNuU",
    order=20,
    mend=_mend,
)
