"""Text within Markdown that people paste somewhere: nothing of it becomes a link, an image, a tag or a heading."""

from __future__ import annotations

import re

from webapp.visible import visible

_SPECIAL = re.compile(
    r"[\\`*\[\]<>&!~|@#$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|:(?=//)|(?<=mailto):|(?<=www)\.|^[-+=]|(?<=^\d)[.)]|(?<=^\d\d)[.)]",
    re.IGNORECASE,
)
_TICKS = re.compile(r"`+")


def escaped(text: str) -> str:
    """`text` on one line, as CommonMark shows it letter by letter: a backslash before what would mean something (§2.4).

    Nor does any site make a link of it, which needs no brackets there: `www.`, `user@host`, `https:`.
    """
    return _SPECIAL.sub(lambda match: f"\\{match[0]}", visible(text))


def code(text: str) -> str:
    """`text` as inline code on one line, whatever backticks it holds."""
    text = visible(text)
    ticks = "`" * (_longest(text) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") or not text.strip() else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def block(text: str, info: str = "") -> str:
    """`fenced`, with nothing in it that cannot be seen."""
    return fenced("\n".join(map(visible, text.split("\n"))), info) + "\n"


def fenced(text: str, info: str = "") -> str:
    """`text` as it is, in a fence that no backticks in it can close."""
    fence = "`" * max(3, _longest(text) + 1)
    return f"{fence}{info}\n{text}\n{fence}"


def _longest(text: str) -> int:
    return max(map(len, _TICKS.findall(text)), default=0)
