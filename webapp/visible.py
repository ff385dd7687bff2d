"""Invisible characters: which ones a reader cannot see, or are moved by, what stands for each, and what they smuggle.

The only table of it: the raw pane, titles, the terminal and the exports draw by it, and the finding `hidden_text`
decodes by it. Sources: Unicode 16, `Default_Ignorable_Code_Point` and the categories Cc, Cf, Co, Cs, Zl, Zp; UTS 51
for what belongs to an emoji; Boucher and Anderson, "Trojan Source", for bidirectional controls.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeVar

T = TypeVar("T")
_EMOJI = "\u2190-\u21ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"
_BEFORE_SELECTOR = f"\xa9\xae\u203c\u2049\u2100-\u214f\u2300-\u25ff\u3030\u303d\u3297\u3299{_EMOJI}"
"""What a text or emoji selector may follow without being shown; a second one in a row is shown, and one after a digit
that no keycap (U+20E3) follows: it changes nothing that anybody sees."""
_CHARACTERS = (
    "\x00-\x08\x0b-\x1f\x7f-\xa0\xad"  # C0, C1, no-break space, soft hyphen
    "\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2"  # Arabic letter mark, and signs that hold others
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"  # joiners and fillers: Hangul, Khmer, Mongolian
    "\u1680\u2000-\u200c\u200e\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\ufeff"  # spaces, zero width, bidi
    "\ufe00-\ufe0d\ufff0-\ufffc"  # variation selectors, interlinear annotation, reserved format characters
    "\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef\ufffe\uffff"  # surrogates, private use, no characters
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # scripts' own controls
    "\U000e0000-\U000e0fff\U000f0000-\U0010ffff"  # tags, variation selectors, reserved; private use
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0xE0000, 0x10000))
)
SPECIAL = re.compile(
    f"[{_CHARACTERS}]|(?<![{_BEFORE_SELECTOR}])[\ufe0e\ufe0f](?!(?<=[#*0-9]\ufe0f)\u20e3)"
    f"|(?<![{_EMOJI}\ufe0f])\u200d|\u200d(?![{_EMOJI}])"
)
"""One character that is drawn as a sign. Line feeds and tabs are none: where they stand decides what they become."""
_FLAG = "\U0001f3f4(?:{})\U000e007f".format(
    "|".join("".join(chr(0xE0000 + ord(letter)) for letter in region) for region in ("gbeng", "gbsct", "gbwls"))
)
"""The three flags that Unicode recommends to write with tags."""
_SPECIAL_OR_FLAG = re.compile(f"{_FLAG}|({SPECIAL.pattern})")
_SHORT_NAMES = {
    0x00: "NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI",
    0x10: "DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US",
    0x7F: "DEL",
    0xA0: "NBSP",
    0xAD: "SHY",
    0x200B: "ZWSP ZWNJ ZWJ LRM RLM",
    0x2028: "LS PS LRE RLE PDF LRO RLO",
    0x2060: "WJ",
    0x2066: "LRI RLI FSI PDI",
    0xFEFF: "BOM",
}
"""of characters one after the other, by the first one's code point"""
_LABELS = {first + at: name for first, names in _SHORT_NAMES.items() for at, name in enumerate(names.split())}
_ONE_LINE = {"\n": "↵", "\t": "⇥", "\x7f": "␡"} | {
    chr(code): chr(0x2400 + code) for code in range(32) if code not in (9, 10)
}


@dataclass(frozen=True, slots=True)
class TextRun:
    """A stretch of text as it is, or one character's glyph with its short label, its full name and its code point.

    `mark` is the CSS class of text that needs one: tabs, and spaces at the end of a line.
    """

    text: str
    label: str | None = None
    name: str | None = None
    code: int | None = None
    mark: str = ""


LINE_FEED = TextRun("", "LF", "U+000A LINE FEED")


def runs(text: str) -> Iterator[TextRun]:
    """Split `text` at its special characters. An emoji's joiners and selectors, and flags, stay as they are."""
    at = 0
    for match in _SPECIAL_OR_FLAG.finditer(text):
        if match[1] is None:
            continue
        if match.start() > at:
            yield TextRun(text[at : match.start()])
        yield glyph(match[1])
        at = match.end()
    if at < len(text):
        yield TextRun(text[at:])


def line_runs(text: str) -> Iterator[TextRun]:
    """`runs` of a text that is drawn on one line: its line feeds are glyphs too."""
    for index, line in enumerate(text.split("\n")):
        if index:
            yield LINE_FEED
        yield from runs(line)


def glyph(character: str) -> TextRun:
    """One special character with its short label (`ZWSP`, `180E`) and its name."""
    code = ord(character)
    label = _LABELS.get(code, f"{code:04X}")
    name = unicodedata.name(character, "lone surrogate" if 0xD800 <= code <= 0xDFFF else label)
    return TextRun("", label, f"U+{code:04X} {name}", code)


def sign(character: str) -> str:
    """What stands for a special character in plain text: `␀`, `↵`, `⇥`, else its code point, `⟨U+202E⟩`."""
    return _ONE_LINE.get(character) or f"⟨U+{ord(character):04X}⟩"


def visible(text: str | None) -> str:
    """`text` on one line with nothing in it that cannot be seen or that moves other characters."""
    if not text or (text.isascii() and text.isprintable()):
        return text or ""
    return with_signs(text).replace("\n", "↵").replace("\t", "⇥")


def is_seen(name: str) -> bool:
    """Whether a name is on one line, and every character of it is seen as it is: what people type in is."""
    return name.isprintable() and not SPECIAL.search(name)


def with_signs(text: str) -> str:
    """`text` on its lines, with signs for what cannot be seen or moves other characters; tabs stay."""
    return "".join(run.text if run.code is None else sign(chr(run.code)) for run in runs(text))


def clipped(text: str, limit: int) -> str:
    """`visible(text)`, with the middle left out where `text` is longer than `limit` characters."""
    if len(text) <= limit:
        return visible(text)
    half = limit // 2
    return f"{visible(text[:half])} … {len(text) - 2 * half:,} characters … {visible(text[-half:])}"


_ASCII = bytes(range(128))


@lru_cache(maxsize=1)
def beyond_ascii(text: str) -> bytes:
    """The characters of `text` that are not ASCII, as UTF-8: few bytes, in which several look for something."""
    return b"" if text.isascii() else text.encode("utf-8", "surrogatepass").translate(None, _ASCII)


class HiddenText(NamedTuple):
    """Text that nobody sees, from `start` to `end`: how it is written, and what it says ("" where that is unknown)."""

    start: int
    end: int
    written_in: str
    says: str


_TAGS = "\U000e0000-\U000e007f"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_ZERO_WIDTH = "\u180e\u200b-\u200f\u2060-\u2064\ufeff"
_HIDDEN = re.compile(f"{_FLAG}|([{_TAGS}]+)|([{_SELECTORS}]{{2,}})|([{_ZERO_WIDTH}]{{8,}})")
_SUSPECT = re.compile(rb"\xf3\xa0|\xef(?:\xb8|\xbb\xbf)|\xe2(?:\x80[\x8b-\x8f]|\x81[\xa0-\xa4])|\xe1\xa0\x8e")
"""What the UTF-8 of hidden text begins with."""
_BITS = 8


def hidden_texts(text: str) -> Iterator[HiddenText]:
    """What is smuggled in `text`: in tag characters, in variation selectors (a byte each), in zero-width bits."""
    if not _SUSPECT.search(beyond_ascii(text)):
        return
    for match in _HIDDEN.finditer(text):
        tags, selectors, bits = match.groups()
        if tags:
            says = "".join(chr(ord(character) - 0xE0000) for character in tags)
            yield HiddenText(*match.span(), "tag characters", says)
        elif selectors:
            says = bytes(map(_selected_byte, selectors)).decode("utf-8", "replace")
            yield HiddenText(*match.span(), "variation selectors", says)
        elif bits:
            yield HiddenText(*match.span(), "zero-width characters", _from_bits(bits))


def _selected_byte(selector: str) -> int:
    code = ord(selector)
    return code - 0xFE00 if code <= 0xFE0F else code - 0xE0100 + 16


def _from_bits(text: str) -> str:
    """The ASCII that two zero-width characters spell as bits, whichever of them is 1; "" where they spell none."""
    kinds = sorted(set(text), key=text.index)
    if len(kinds) != 2 or len(text) % _BITS:
        return ""
    for zero in kinds:
        digits = "".join("0" if character == zero else "1" for character in text)
        says = "".join(chr(int(digits[at : at + _BITS], 2)) for at in range(0, len(digits), _BITS))
        if says.isascii() and says.isprintable():
            return says
    return ""


def first(items: Sequence[T], most: int, line: Callable[[T], str], more: str) -> Iterator[str]:
    """A line for each of the first items, and how many `more` there are, in the place of its `{}`."""
    yield from map(line, items[:most])
    if len(items) > most:
        yield more.format(f"{len(items) - most:,}")


def filesize(number: int) -> str:
    """Bytes in words: `812 bytes`, `1.2 kB`, `640 MB`."""
    size = float(number)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:,.0f} {unit}" if unit == "bytes" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} GB"
