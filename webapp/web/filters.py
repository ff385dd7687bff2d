"""Template filters: numbers, times and texts as every page shows them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache

from flask import Flask
from markupsafe import Markup, escape

from webapp.parsing.words import filled, in_python
from webapp.visible import visible

CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
"""A run of backticks, text, and a run of the same length (CommonMark 0.31, 6.1)."""
_LONGEST_REMEMBERED = 200
"""Code points up to which a sentence is remembered: a list's rows say much the same."""


def init_app(app: Flask) -> None:
    shown = (grouped, ago, exact, visible, filesize, ticks, seconds, dollars, filled)
    app.jinja_env.filters.update({function.__name__: function for function in shown})
    app.jinja_env.globals.update(plural=plural, in_python=in_python, spent_words=spent_words)


def grouped(number: int) -> str:
    return f"{number:,}"


def plural(number: int, singular: str, many: str | None = None) -> str:
    """`1 turn`, `2,000 turns`."""
    return f"{number:,} {singular if number == 1 else many or singular + 's'}"


def exact(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def ago(when: datetime) -> str:
    """How long ago, in the largest unit that fits; the date for what lies more than a month back or ahead."""
    seconds = (datetime.now(UTC) - when).total_seconds()
    if seconds < -60 or seconds > 30 * 86400:
        return when.astimezone(UTC).strftime("%-d %b %Y")
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "just now"


def seconds(number: float) -> str:
    """`0.4 s`, `12 s`, `3 min 5 s`, `2 h 10 min`, `4 d 2 h`."""
    if number < 60:
        return f"{number:.1f} s" if number < 10 else f"{number:.0f} s"
    units = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))
    size, unit = next(pair for pair in units if number >= pair[0])
    below, name = units[units.index((size, unit)) + 1]
    rest = int(number % size // below)
    return f"{int(number // size)} {unit}" + (f" {rest} {name}" if rest else "")


def dollars(cost: float) -> str:
    """US dollars to two places that say something: `$1.25`, `$0.0042`."""
    return f"${cost:,.2f}" if cost >= 1 else f"${cost:.2g}" if cost >= 0.0001 else "<$0.0001"


def spent_words(spent: Mapping[str, float | None], responses: int) -> str:
    """`12 tokens in, 340 tokens out (said of 3), $0.12, 5.0 s`; what no response says is left out."""
    units: dict[str, Callable[[float], str]] = {
        "tokens_in": lambda count: f"{count:,.0f} tokens in",
        "tokens_out": lambda count: f"{count:,.0f} tokens out",
        "cost": dollars,
        "seconds": seconds,
    }
    each = [
        (said, words(sum_of))
        for name, words in units.items()
        if (sum_of := spent[name]) is not None and (said := spent[f"{name}_said"])
    ]
    told = [words if said == responses else f"{words} (said of {said:,.0f})" for said, words in each]
    return ", ".join(told) or "not in this log"


def filesize(number: int) -> str:
    size = float(number)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:,.0f} {unit}" if unit == "bytes" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} GB"


def ticks(text: str) -> Markup:
    """Escaped text in which code spans, written with backticks as in CommonMark, are code."""
    return _remembered(text) if len(text) <= _LONGEST_REMEMBERED else _marked(text)


def _marked(text: str) -> Markup:
    pieces: list[Markup] = []
    at = 0
    for match in CODE_SPAN.finditer(text):
        pieces += [escape(text[at : match.start()]), Markup("<code>{}</code>").format(match[2].strip())]
        at = match.end()
    return Markup("").join([*pieces, escape(text[at:])])


_remembered = lru_cache(maxsize=1024)(_marked)
