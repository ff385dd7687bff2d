"""What a repair is: a name for one kind of defect and, where a pattern shows the defect, how to mend it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache

from webapp import plugins
from webapp.parsing.machine.state import Machine
from webapp.parsing.patterns import preparing

FOLDER = "webapp.parsing.repairs"

Mend = Callable[[Machine, "re.Match[str]"], bool]
"""Mends what the pattern matched at `machine.at` and moves on; False declines, and nothing may have changed then."""


@dataclass(frozen=True)
class Repair:
    """One kind of defect. One without a pattern is made by the machine itself, between two tokens or in a string.

    `states` says where the pattern is tried, a string of the machine's states: `k` key, `c` colon, `v` value, `a` after
    a value. The first characters that it can begin with are `starts`, all where that is empty,
    "\\x80" standing for everything outside ASCII. Lower `order` is tried first.

    `opens` is a pattern of what stands behind an opening bracket, or in the place of one, where only this repair makes
    JSON of it: it makes a bracket a candidate that would else be taken for prose or program code.
    """

    name: str
    pattern: str = ""
    states: str = ""
    starts: str = ""
    order: int = 50
    mend: Mend | None = None
    opens: str = ""
    help: str = ""


def mends(
    name: str, pattern: str, states: str, starts: str = "", *, order: int = 50, opens: str = ""
) -> Callable[[Mend], Repair]:
    """Makes a repair of the function that mends; the first paragraph of its docstring is the help."""

    def repair(mend: Mend) -> Repair:
        paragraph = (mend.__doc__ or "").partition("\n\n")[0]
        return Repair(name, pattern, states, starts, order, mend, opens, " ".join(paragraph.split()))

    return repair


MADE_BETWEEN_TOKENS = {
    "backticks": "A string in backticks, a JavaScript template for example, is put in double quotes.",
    "bad_escape": "A backslash that begins no escape JSON knows is doubled, dropped or rewritten.",
    "call_markup": "A tool call written in XML or other markup becomes an object with name and arguments.",
    "call_syntax": "A tool call written as Python writes it becomes an object with name and arguments.",
    "comma_in_quote": "A comma or colon that slipped inside the closing quote moves behind it.",
    "control_character": "A control character inside a string, a raw line break for example, is escaped.",
    "doubled_colon": "A colon after a colon is removed.",
    "doubled_comma": "A comma with nothing before it is removed.",
    "doubled_quote": "A quote written twice at the ends of a string is written once.",
    "escaped_json": "JSON written as the inside of a string loses one layer of backslashes.",
    "extra_closer": "A closing bracket that closes nothing is removed.",
    "html_entity": "A character written as an entity of HTML (&quot;) is written as itself.",
    "mismatched_closer": "A closing bracket of the wrong kind becomes the right one.",
    "mismatched_opener": "An opening bracket of the wrong kind becomes the right one.",
    "missing_closer": "A container that is still open where its value ends gets its closing bracket.",
    "missing_comma": "Two values or members without a comma between them get one.",
    "missing_opener": "A key in the middle of an array gets the brace that opens its object.",
    "missing_quote": "A string that lacks its opening or closing quote gets it.",
    "missing_value": "A key without a value gets null, or is dropped where the policy says so.",
    "quotation_mark": "A mark or number at the beginning of each line (> of a quotation, + of a diff, 12:) is removed.",
    "set": "A Python set becomes an array.",
    "single_quotes": "A string in single quotes is put in double quotes.",
    "smart_quotes": "A string in typographic quotes is put in double quotes.",
    "square_object": "Keys and values in square brackets, as Swift and PHP write them, become an object.",
    "trailing_comma": "A comma before a closing bracket is removed.",
    "triple_quotes": "A string in Python's triple quotes is put in double quotes.",
    "truncation": "What was cut off at the end and of which nothing can be kept is removed.",
    "unescaped_quote": "A quote inside a string that does not close it is escaped.",
}
"""Repairs that no pattern shows: the modules of `machine` make them where they meet a bracket, a gap or a quote."""


@cache
def repairs() -> dict[str, Repair]:
    """Every repair by name: those of the folder and those that the machine makes between two tokens."""
    between = {name: Repair(name) for name in MADE_BETWEEN_TOKENS}
    return dict(sorted({**between, **plugins.collect(FOLDER)}.items()))


@lru_cache(maxsize=4096)
@preparing()
def candidates(state: str, char: str) -> tuple[tuple[re.Pattern[str], Mend], ...]:
    """The repairs that may begin with `char` in `state`, in the order they are tried."""
    wide = "\x80" if char >= "\x80" else char
    fitting = [
        repair
        for repair in repairs().values()
        if state in repair.states and (not repair.starts or char in repair.starts or wide in repair.starts)
    ]
    fitting.sort(key=lambda repair: repair.order)
    return tuple((re.compile(repair.pattern), repair.mend) for repair in fitting if repair.mend)


def fits(state: str, raw: str, at: int, end: int) -> bool:
    """Whether a repair knows what stands at `at` in `state`."""
    return at < end and any(pattern.match(raw, at, end) for pattern, _ in candidates(state, raw[at]))


@cache
@preparing()
def opening() -> re.Pattern[str] | None:
    """What repairs know behind an opening bracket, all their `opens` in one pattern."""
    patterns = [f"(?:{repair.opens})" for repair in repairs().values() if repair.opens]
    return re.compile(r"[{\[]\s{0,200}+(?:" + "|".join(patterns) + ")") if patterns else None
