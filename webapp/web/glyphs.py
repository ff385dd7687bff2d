"""Glyphs: what stands in a page for characters that are invisible, that reorder text, or that HTML cannot hold."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

SPECIAL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f"
    "\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffc\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
_CONTROL = (
    "NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI"
    " DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US"
)
_SHORT = dict(enumerate(_CONTROL.split())) | {
    0x7F: "DEL",
    0xA0: "NBSP",
    0xAD: "SHY",
    0x200B: "ZWSP",
    0x200C: "ZWNJ",
    0x200D: "ZWJ",
    0x200E: "LRM",
    0x200F: "RLM",
    0x2028: "LS",
    0x2029: "PS",
    0x202A: "LRE",
    0x202B: "RLE",
    0x202C: "PDF",
    0x202D: "LRO",
    0x202E: "RLO",
    0x2060: "WJ",
    0x2066: "LRI",
    0x2067: "RLI",
    0x2068: "FSI",
    0x2069: "PDI",
    0xFEFF: "BOM",
}


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of text as it is, or one character's glyph with its short label, its full name and its code point.

    `mark` is the CSS class of text that needs one: tabs, and spaces at the end of a line.
    """

    text: str
    label: str | None = None
    name: str | None = None
    code: int | None = None
    mark: str = ""


def runs(text: str) -> Iterator[Run]:
    """Split `text` at its special characters. An emoji's joiners and variation selectors stay with the emoji."""
    at = 0
    for match in SPECIAL.finditer(text):
        if _belongs(text, match.start()):
            continue
        if match.start() > at:
            yield Run(text[at : match.start()])
        yield glyph(match.group())
        at = match.end()
    if at < len(text):
        yield Run(text[at:])


def glyph(character: str) -> Run:
    code = ord(character)
    label = _SHORT.get(code, f"{code:04X}")
    name = unicodedata.name(character, "lone surrogate" if 0xD800 <= code <= 0xDFFF else label)
    return Run("", label, f"U+{code:04X} {name}", code)


def _belongs(text: str, at: int) -> bool:
    code = ord(text[at])
    if 0xFE00 <= code <= 0xFE0F:
        return at > 0 and ord(text[at - 1]) >= 0x203C
    return code == 0x200D and 0 < at < len(text) - 1 and ord(text[at - 1]) >= 0x2600 and ord(text[at + 1]) >= 0x2600


def visible(text: str | None) -> str:
    """`text` on one line: every special character as its label in brackets, line breaks and tabs as arrows."""
    if not text or not SPECIAL.search(text):
        return (text or "").replace("\n", "↵").replace("\t", "⇥")
    pieces = [run.text if run.label is None else f"⟨{run.label}⟩" for run in runs(text)]
    return "".join(pieces).replace("\n", "↵").replace("\t", "⇥")
