"""The split of labelled responses: half to tune a parser on (dev), half to test it with (test)."""

from __future__ import annotations

import hashlib

SPLITS = ("dev", "test")
_DRAW = b"fencepost split 1:"
"""drawn once: with another text every response would be drawn anew"""


def split_of(raw_sha256: bytes) -> str:
    """ "dev" or "test", by a hash of the hash of the text: the same for the same text, wherever and whenever."""
    return SPLITS[hashlib.sha256(_DRAW + raw_sha256).digest()[0] & 1]


def split_of_text(raw: str) -> str:
    """As `split_of`, of the text itself."""
    return split_of(hashlib.sha256(raw.encode("utf-8", "surrogatepass")).digest())
