"""Hostile text made fit for a terminal: control, bidirectional and invisible characters become visible signs."""

from __future__ import annotations

import json
import re
from typing import Any

_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_SIGNS = {"\n": "↵", "\t": "⇥", "\x7f": "␡"} | {chr(c): chr(0x2400 + c) for c in range(32) if c not in (9, 10)}


LONGEST_LINE = 2000  # characters of a value's line


def visible(text: str) -> str:
    """`text` in one line, each unsafe character as one sign (␀, ↵, ⇥) or as its code point (<U+202E>)."""
    return _UNSAFE.sub(_sign, text)


def clipped(text: str, limit: int) -> str:
    """`visible(text)`, with the middle left out where `text` is longer than `limit` characters."""
    if len(text) <= limit:
        return visible(text)
    half = limit // 2
    return f"{visible(text[:half])} … {len(text) - 2 * half:,} characters … {visible(text[-half:])}"


def value_lines(value: Any, indent: int | None = 2) -> list[str]:
    """A decoded value as JSON for people: indented, not escaped beyond need."""
    try:
        text = json.dumps(value, indent=indent, ensure_ascii=False, check_circular=False)
    except RecursionError:
        return ["(nested too deep to be shown here: --json prints it)"]
    return [clipped(line, LONGEST_LINE) for line in text.split("\n")]


def _sign(match: re.Match[str]) -> str:
    char = match.group()
    return _SIGNS.get(char) or f"<U+{ord(char):04X}>"
