"""A short hash of texts that is the same in every process, as Python's own is not: for what is stored."""

from __future__ import annotations

from hashlib import blake2b


def text_hash(*texts: str) -> int:
    """64 bits of the texts in their order."""
    return int.from_bytes(blake2b("\0".join(texts).encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
