"""Template filters: numbers, times and texts as every page shows them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from flask import Flask
from markupsafe import Markup, escape

from webapp.web.glyphs import visible

CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
"""A run of backticks, text, and a run of the same length (CommonMark 0.31, 6.1)."""


def init_app(app: Flask) -> None:
    app.jinja_env.filters.update(grouped=grouped, ago=ago, exact=exact, visible=visible, filesize=filesize, ticks=ticks)
    app.jinja_env.globals.update(plural=plural)


def grouped(number: int) -> str:
    return f"{number:,}"


def plural(number: int, one: str, many: str | None = None) -> str:
    """`1 turn`, `2,000 turns`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


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
