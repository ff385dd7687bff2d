"""A number for the values that a parse read: equal where two profiles read the same JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from webapp.jsontext import canonical as canonical


def value_digest(values: Sequence[Any]) -> int | None:
    """64 bits, signed, of the SHA-256 of `canonical`; None where that is."""
    text = canonical(values)
    if text is None:
        return None
    return int.from_bytes(hashlib.sha256(text.encode("ascii")).digest()[:8], "big", signed=True)
