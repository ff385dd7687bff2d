"""A comment, of JavaScript, C, Python or HTML, is removed."""

from __future__ import annotations

import re

from webapp.parsing.machine.repair import Repair
from webapp.parsing.machine.state import Machine
from webapp.parsing.patterns import later

LONGEST = 20_000
"""So far the end of a line, or of a comment in HTML, is looked for."""


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    if machine.state == "v" and match[0] == "#" and _word.match(machine.raw, machine.at, machine.end):
        return False
    end = _end(machine.raw, match, machine.end)
    if end < 0:
        return False
    is_cut = match[0] in ("//", "#") and machine.frames and end == machine.end
    if is_cut and (closer := _closer.search(machine.raw, match.start(), end)):
        end = closer.start()  # a line comment that no line's end ends: the value goes on with the bracket
    machine.at = end
    while machine.raw[end - 1].isspace():
        end -= 1
    machine.patch(plugin.name, match.start(), end)
    return True


def _end(raw: str, match: re.Match[str], limit: int) -> int:
    """Where the comment ends that began with what the pattern matched, or -1."""
    if match[0] in ("//", "#"):
        end = raw.find("\n", match.end(), min(limit, match.end() + LONGEST))
        return end if end >= 0 else min(limit, match.end() + LONGEST)
    if match[0] == "/*":
        end = raw.find("*/", match.end(), limit)
        return end + 2 if end >= 0 else limit
    end = raw.find("-->", match.end(), min(limit, match.end() + LONGEST))
    return end + 3 if end >= 0 else -1


_word = later(r"""#[\w-]{2,40}+(?=[ \t]*+(?:[}\]]|,[ \t]*+(?:["'}\]\n#]|\Z)))|#[\da-fA-F]{3,8}+\s*+[,}\]]""")
"""A colour or a tag, which is a value: `#ff8800`."""
_closer = later(r"\s{0,100}+[}\]]")


plugin = Repair(
    "comment",
    r"//|/\*|#|<!--",
    "kcva",
    "/#<",
    order=5,
    mend=_mend,
)
