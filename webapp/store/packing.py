"""Packs JSON text for the columns that nobody searches: zstd with a dictionary of what traces and entries repeat."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PACKED = b"\x01"
"""The first byte of a packed value; JSON text never begins so, and plain text from before is read as it is."""
SHORTEST = 64
"""bytes below which packing gains nothing"""
_MAGIC = b"\x28\xb5\x2f\xfd"
_LEVEL = 3


def pack(text: bytes) -> bytes:
    """`text`, which is JSON, in less where that can be."""
    if len(text) < SHORTEST:
        return text
    packed = PACKED + _compressor().compress(text, zstd.ZstdCompressor.FLUSH_FRAME)[len(_MAGIC) :]
    return packed if len(packed) < len(text) else text


def unpack(data: bytes) -> bytes:
    """What `pack` was given; text that was never packed comes back as it is."""
    if data[:1] != PACKED:
        return data
    return zstd.decompress(_MAGIC + data[len(PACKED) :], zstd_dict=_dictionary())


def train_dict(samples: list[bytes], size: int) -> bytes:
    """A dictionary made from samples; see `benchmarks/dictionary.py`."""
    return bytes(zstd.train_dict(samples, size).dict_content)


@cache
def _dictionary() -> zstd.ZstdDict:
    return zstd.ZstdDict(Path(__file__).with_name("packing.zdict").read_bytes())


@cache
def _compressor() -> zstd.ZstdCompressor:
    """One for all threads: a whole frame is one call, and calls take turns."""
    return zstd.ZstdCompressor(level=_LEVEL, zstd_dict=_dictionary().as_digested_dict)
