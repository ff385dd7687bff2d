"""A number in another notation (0xFF, 0o17, +5, .5, 1_000, 1,234, 10n) is written as JSON writes it."""

from __future__ import annotations

import re

from webapp.parsing.machine.repair import Repair
from webapp.parsing.machine.state import Machine
from webapp.parsing.machine.tokens import DELIMITED
from webapp.parsing.patterns import later

_based = later(r"([-+]?)0([xXoObB])([0-9a-fA-F_]++)")
_json = later(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_grouped = later(r"-?[1-9]\d{0,2}(?:,\d{3})++(?:\.\d++)?(?=\s*+(?:\}|,\s*+[\"'A-Za-z_}]))")


def _mend(machine: Machine, match: re.Match[str]) -> bool:
    text = match[0]
    if _json.fullmatch(text):
        return False
    new = _based_number(text) if _based.match(text) else _plain_number(text)
    if new is None:
        return False
    return machine.replace(plugin.name, match, new, value=True)


def _based_number(text: str) -> str | None:
    match = _based.fullmatch(text)
    if not match or len(text) > 300:
        return None
    sign, base, digits = match.groups()
    try:
        value = int(digits, {"x": 16, "o": 8, "b": 2}[base.lower()])
    except ValueError:
        return None
    return f"{'-' if sign == '-' else ''}{value}"


def _plain_number(text: str) -> str | None:
    """The same number with JSON's digits: no plus, no separators, no bare point, no suffix."""
    number = text.rstrip("nLlfFdD").lstrip("+").replace("_", "").replace(",", "")
    number = re.sub(r"^(-?)\.", r"\g<1>0.", number)
    number = re.sub(r"\.(?=$|[eE])", ".0", number)
    return number if _json.fullmatch(number) else None


def _either(machine: Machine, match: re.Match[str]) -> bool:
    """As an object's value, with its thousands where commas part them; else the number alone."""
    grouped = _grouped.match(machine.raw, machine.at, machine.end) if machine.inside == "{" else None
    return bool(grouped and _mend(machine, grouped)) or (match["end"] is not None and _mend(machine, match))


plugin = Repair(
    "number",
    rf"[-+]?(?:0[xXoObB][0-9a-fA-F_]++|(?:\d[\d_]*+\.?[\d_]*+|\.\d++)(?:[eE][-+]?\d++)?+[nLfFdDl]?)(?P<end>{DELIMITED})?",
    "v",
    "+-.0123456789",
    order=20,
    mend=_either,
)
