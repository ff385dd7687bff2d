"""How files are compressed, told by their first bytes, and what unpacks them (zstd came with Python 3.14)."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO

if sys.version_info >= (3, 14):
    import zipfile

    from compression import zstd
else:
    from backports import zstd
    from backports.zstd import zipfile

ZstdError = zstd.ZstdError
PACKED: dict[bytes, tuple[str, Callable[[BinaryIO], Any]]] = {
    b"\x1f\x8b": ("gzip", lambda file: gzip.GzipFile(fileobj=file)),
    b"\x28\xb5\x2f\xfd": ("zstd", zstd.ZstdFile),
    b"\xfd7zXZ\0": ("xz", lzma.LZMAFile),
    b"BZh": ("bzip2", bz2.BZ2File),
}
"""the beginning of a compressed stream, what it is called, and what reads it"""
COMPUTED = (b"SQLite", b"PAR1")
"""how files begin of which a library makes rows, in the process that may die over them"""
HOLDING_MORE = (*PACKED, b"PK", *COMPUTED)
"""how files begin of which more comes out than was sent"""
LONGEST_MARK = max(map(len, HOLDING_MORE))
DAMAGE = (gzip.BadGzipFile, zlib.error, zstd.ZstdError, lzma.LZMAError, OSError, ValueError)
__all__ = ["COMPUTED", "DAMAGE", "HOLDING_MORE", "LONGEST_MARK", "PACKED", "ZstdError", "zipfile", "zstd"]


def packed_as(beginning: bytes) -> bytes | None:
    """The mark with which a compressed stream begins; None for what is none."""
    return next((mark for mark in PACKED if beginning.startswith(mark)), None)
