"""Templates: filters for numbers, times and texts, and short lines that keep pages small."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from flask import Flask
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream
from markupsafe import Markup, escape

from webapp.parsing.words import called, filled, in_python
from webapp.repair_names import defect
from webapp.visible import visible

CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
"""A run of backticks, text, and a run of the same length (CommonMark 0.31, 6.1)."""
_RIGHT_TO_LEFT = re.compile("({0}(?:[^\"'`{{}}\\[\\]\\\\\n]*{0})?)".format("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]"))
"""from a letter that is written from right to left to the last one before a sign of JSON"""


def _add_filters(app: Flask) -> None:
    shown = (grouped, ago, exact, visible, isolated, filesize, ticks, seconds, dollars, filled, called, defect)
    app.jinja_env.filters.update({function.__name__: function for function in shown})
    app.jinja_env.globals.update(plural=plural, in_python=in_python, spent_words=spent_words)


def isolated(text: str) -> Markup | str:
    """A text in which every stretch from right to left stands in a `bdi`, so that no bracket or quote moves with it."""
    if _RIGHT_TO_LEFT.search(text) is None:
        return text
    parts = _RIGHT_TO_LEFT.split(text)
    return Markup("").join(Markup("<bdi>{}</bdi>").format(part) if at % 2 else part for at, part in enumerate(parts))


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
    sums = [
        (said, words(sum_of))
        for name, words in units.items()
        if (sum_of := spent[name]) is not None and (said := spent[f"{name}_said"])
    ]
    parts = [words if number == responses else f"{words} (said of {number:,.0f})" for number, words in sums]
    return ", ".join(parts) or "not in this log"


def filesize(number: int) -> str:
    size = float(number)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:,.0f} {unit}" if unit == "bytes" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} GB"


def ticks(text: str) -> Markup:
    """Escaped text in which code spans, written with backticks as in CommonMark, are code."""
    pieces: list[Markup] = []
    at = 0
    for match in CODE_SPAN.finditer(text):
        pieces += [escape(text[at : match.start()]), Markup("<code>{}</code>").format(match[2].strip())]
        at = match.end()
    return Markup("").join([*pieces, escape(text[at:])])


OPTIONS: dict[str, Any] = {"trim_blocks": True, "lstrip_blocks": True}
_LINE_BREAK = re.compile(
    r"(?<=[^\s>])[ \t]*\n\s*(?=[^\s<]|\Z|<(?:a|b|code|del|ins|kbd|span)\b)|\A(?:[ \t]*\n\s*|\s{2,})(?=[^\s<])"
)
"""a line break, with the indentation after it, inside a tag or a sentence"""

_VERBATIM = re.compile(r"(?=</?(?:pre|textarea)\b)")


class JoinedLines(Extension):
    """Makes one space of each line break inside a tag or a sentence, so that short template lines keep pages small."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        verbatim = False
        for token in stream:
            if token.type != "data":
                yield token
                continue
            pieces = []
            for piece in _VERBATIM.split(token.value):
                if _VERBATIM.match(piece):
                    verbatim = not piece.startswith("</")
                pieces.append(piece if verbatim else _LINE_BREAK.sub(" ", piece))
            yield Token(token.lineno, "data", "".join(pieces))


def init_app(app: Flask) -> None:
    _add_filters(app)
    app.jinja_env.add_extension(JoinedLines)
