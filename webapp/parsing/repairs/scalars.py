"""Numbers and literals: those of other languages and notations, and those that the end of the text cuts."""

from __future__ import annotations

import re

from webapp.parsing.machine.repair import mends
from webapp.parsing.machine.state import Machine
from webapp.parsing.machine.tokens import DELIMITED
from webapp.parsing.patterns import later

_based = later(r"[-+]?0[xXoObB]")
_json = later(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_grouped = later(r"-?[1-9]\d{0,2}(?:,\d{3})++(?:\.\d++)?(?=\s*+(?:\}|,\s*+[\"'A-Za-z_}]))")


def _mend_number(machine: Machine, match: re.Match[str]) -> bool:
    text = match[0]
    if _json.fullmatch(text):
        return False
    new = _based_number(text) if _based.match(text) else _plain_number(text)
    if new is None:
        return False
    return machine.replace("number", match, new, value=True)


def _based_number(text: str) -> str | None:
    try:
        return str(int(text, 0)) if len(text) <= 300 else None
    except ValueError:
        return None


def _plain_number(text: str) -> str | None:
    """The same number with JSON's digits: no plus, no separators, no bare point, no suffix."""
    number = text.rstrip("nLlfFdD").lstrip("+").replace("_", "").replace(",", "")
    number = re.sub(r"^(-?)\.", r"\g<1>0.", number)
    number = re.sub(r"\.(?=$|[eE])", ".0", number)
    return number if _json.fullmatch(number) else None


@mends(
    "number",
    rf"[-+]?(?:0[xXoObB][0-9a-fA-F_]++|(?:\d[\d_]*+\.?[\d_]*+|\.\d++)(?:[eE][-+]?\d++)?+[nLfFdDl]?)(?P<end>{DELIMITED})?",
    "v",
    "+-.0123456789",
    order=20,
)
def number(machine: Machine, match: re.Match[str]) -> bool:
    """A number in another notation (0xFF, 0o17, +5, .5, 1_000, 1,234, 10n) is written as JSON writes it.

    As an object's value, with its thousands where commas part them; else the number alone.
    """
    grouped = _grouped.match(machine.raw, machine.at, machine.end) if machine.inside == "{" else None
    return bool(grouped and _mend_number(machine, grouped)) or (
        match["end"] is not None and _mend_number(machine, match)
    )


@mends("literal", r"(?i:true|false|null|none|undefined|nil)\b" + DELIMITED, "v", "tTfFnNuU", order=20)
def literal(machine: Machine, match: re.Match[str]) -> bool:
    """A literal of Python, JavaScript or another language (True, None, undefined) becomes JSON's."""
    if match[0] not in ("true", "false", "null"):
        word = match[0].lower()
        machine.patch("literal", match.start(), match.end(), word if word in ("true", "false") else "null")
    machine.value_done(match.end())
    return True


@mends(
    "cut_number",
    r"(?P<number>-?(?:0|[1-9]\d*+)(?:\.\d++)?+)?+(?:[eE][-+]?(?=\s*+[,}\]])|(?P<cut>[eE][-+]?|\.|-)(?=\s*+,?\s*+\Z))",
    "v",
    "-0123456789",
    order=15,
)
def cut_number(machine: Machine, match: re.Match[str]) -> bool:
    """A number that the end of the text cuts after its point, exponent or sign loses that part."""
    machine.truncated = machine.truncated or match["cut"] is not None
    if not match["number"]:
        return machine.replace("cut_number", match, "null", value=True)
    machine.patch("cut_number", match.end("number"), match.end())
    machine.value_done(match.end())
    machine.last = match.end("number")
    return True


@mends("cut_literal", r"(?:[tT](?:ru?)?|[fF](?:a(?:ls?)?)?|n(?:ul?)?|N(?:on?)?)\Z", "v", "tfnTFN", order=15)
def cut_literal(machine: Machine, match: re.Match[str]) -> bool:
    """A literal that the end of the text cuts in the middle is completed."""
    whole = {"t": "true", "f": "false", "n": "null"}[match[0][0].lower()]
    is_json = match[0][0].islower()
    start = match.end() if is_json else match.start()
    machine.patch("cut_literal", start, match.end(), whole.removeprefix(match[0]) if is_json else whole)
    machine.truncated = True
    machine.value_done(match.end())
    return True


@mends(
    "non_finite",
    r"[-+]?(?:NaN|nan|NAN|Infinity|infinity|inf|Inf|-?math\.(?:nan|inf)|float\([\"'](?:nan|-?inf)[\"']\))" + DELIMITED,
    "v",
    "nNiI+-mf",
    order=20,
)
def non_finite(machine: Machine, match: re.Match[str]) -> bool:
    """NaN and Infinity, which JSON cannot say, become null, as JavaScript writes them."""
    return machine.replace("non_finite", match, "null", value=True)


plugins = (number, non_finite, literal, cut_number, cut_literal)
