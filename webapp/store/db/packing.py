"""Packs what the database keeps: JSON with a dictionary of what traces and entries repeat, texts of some length."""

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
TEXT = b"\xff"
"""The first byte of a packed text, which UTF-8 never has; its length in decimal digits follows."""
DIGITS = 5
SHORTEST_TEXT = 512
LONGEST_TEXT = 65_536
"""bytes: the beginning of a longer text is read without the rest, so it stays plain"""
_MAGIC = b"\x28\xb5\x2f\xfd"
_LEVEL = 3
_TEXT_LEVEL = 1


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


def pack_text(text: bytes) -> bytes:
    """`text`, which is UTF-8, in less where that is worth it."""
    if not SHORTEST_TEXT <= len(text) <= LONGEST_TEXT:
        return text
    frame = _text_compressor().compress(text, zstd.ZstdCompressor.FLUSH_FRAME)
    packed = TEXT + b"%0*d" % (DIGITS, len(text)) + frame[len(_MAGIC) :]
    return packed if len(packed) < len(text) else text


def unpack_text(data: bytes) -> bytes:
    """What `pack_text` was given; a text that was never packed comes back as it is."""
    if data[:1] != TEXT:
        return data
    return zstd.decompress(_MAGIC + data[1 + DIGITS :])


@cache
def _dictionary() -> zstd.ZstdDict:
    return zstd.ZstdDict(Path(__file__).with_name("packing.zdict").read_bytes())


@cache
def _compressor() -> zstd.ZstdCompressor:
    """One for all threads: a whole frame is one call, and calls take turns."""
    return zstd.ZstdCompressor(level=_LEVEL, zstd_dict=_dictionary().as_digested_dict)


@cache
def _text_compressor() -> zstd.ZstdCompressor:
    return zstd.ZstdCompressor(level=_TEXT_LEVEL)
