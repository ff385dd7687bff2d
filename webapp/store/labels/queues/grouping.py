"""Groups: responses that are near enough to each other that one label can serve them."""

from __future__ import annotations

import hashlib
import re

_COMPARED = 20_000
"""code points from the beginning that are compared; the length of what follows is, too"""
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_ID = re.compile(r"\b(?=[0-9a-fA-F-]*\d)[0-9a-fA-F]{6,}(?:-[0-9a-fA-F]{2,})*\b|\b\w*\d\w*\d\w*\d\w*\b")
_NUMBER = re.compile(r"(?<![A-Za-z_])\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_SPACE = re.compile(r"\s+")
_SHORT = 24


def likeness(raw: str, *marks: str | None) -> bytes:
    """16 bytes that near-identical responses share: the same text but for white space, numbers, ids and long strings.

    `marks` must be the same too: how the parsers took it.
    """
    text = "\x00".join([plain(raw), *(mark or "" for mark in marks)])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def plain(raw: str) -> str:
    """`raw` with what differs from one response to its like left out."""
    text = _STRING.sub(_shortened, raw[:_COMPARED])
    text = _NUMBER.sub("0", _ID.sub("0", text))
    rest = "" if len(raw) <= _COMPARED else f"…{(len(raw) - _COMPARED).bit_length()}"
    return _SPACE.sub(" ", text).strip() + rest


def _shortened(match: re.Match[str]) -> str:
    text = match[1]
    return match[0] if len(text) <= _SHORT else '"…"'
