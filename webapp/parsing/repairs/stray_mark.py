"""Marks beside a token that belong to none, as Markdown or a slip of the model leaves them, are removed: `*"a"*: 1`."""

from __future__ import annotations

import re

from webapp.parsing.machine.repair import Repair
from webapp.parsing.machine.state import Machine
from webapp.parsing.machine.tokens import MARK, NUMBER, SPACE
from webapp.parsing.patterns import later

_SCALAR = rf"(?:{NUMBER}|true|false|null)"
_END = rf"(?={SPACE}[,}}\]])"
_behind = {
    "k": later(rf'{SPACE}"[^"\n]{{1,80}}+"(?:{MARK})?+{SPACE}:'),
    "c": later(rf"{SPACE}:"),
    "v": later(
        rf'{SPACE}["\[{{]|(?<![.~-])[ \t]*+{_SCALAR}{_END}'
        rf"|[ \t]*+(?:true|false|null){_END}|(?<=:[.~])[ ]{_SCALAR}{_END}"
    ),
    "a": later(rf"{SPACE}(?:[,}}\]]|\Z)"),
}


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    scalar = match["scalar"]
    is_alone = (
        not scalar
        and machine.state == "v"
        and machine.inside == "["
        and not machine.frames[-1].count
        and machine.comma < 0
    )
    if is_alone and _empty.match(machine.raw, match.end(), machine.end):
        return machine.replace(plugin.name, match)
    if not machine.frames or not (scalar or _behind[machine.state].match(machine.raw, match.end(), machine.end)):
        return False
    start = match.start() + len(scalar or "")
    machine.patch(plugin.name, start, match.end())
    machine.at = match.end()
    if scalar:
        machine.value_done(machine.at)
        machine.last = start
    return True


_empty = later(rf"{SPACE}\]")
plugin = Repair(
    "stray_mark",
    rf"(?P<scalar>(?:{_SCALAR}(?!\.)|-?\d++\.\d++|true|false|null)){MARK}{_END}|[*`_\\^;|]{{1,3}}+(?=-\d)|{MARK}",
    "kcva",
    "*`_~\\^.;|-0123456789tfn",
    order=18,
    mend=_mend,
    opens=rf'(?:{MARK}[ ]?\{{?|\{{{MARK})"[^"\n]{{1,80}}+"(?:{MARK})?+\s*+:',
)
