"""Puts an incoming stream on disk, decompressed and hashed, in pieces: nothing is ever held whole in memory."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import os
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

from webapp.dumps.budget import PIECE, BadDump, Budget, TooLarge, current
from webapp.dumps.records import Problem

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


MOST_UNPACKED = 16 * PIECE
"""of a request that is read in memory: as objects it is some twenty times as much"""
_PACKED_BODIES = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")
_GZIP_OR_ZLIB, _BARE = 47, -15
"""zlib's `wbits`"""
NO_TEXT = "\ufffd"
"""stands in a body for what is no text"""

_TRAILING = ("Not a gzipped file", "Unknown frame descriptor")
"""How gzip and zstd call what follows the end of a stream and is no other one."""


@dataclass(frozen=True, slots=True)
class Spooled:
    """A dump on disk: `path` holds the decompressed content, whose hash and size `sha256` and `bytes` are.

    `problem` says that the compressed stream was cut or damaged; what came before that place is in `path`. `packed` is
    its size as it came, where it holds more than was sent.
    """

    path: Path
    sha256: str
    bytes: int
    problem: Problem | None = None
    packed: int | None = None


class _Damaged(Exception):
    """The compressed stream is not valid from here on."""


def spool(stream: BinaryIO, folder: Path, *, max_bytes: int, is_beginning: bool = False) -> Spooled:
    """Write `stream`, decompressed where it is packed, to a new file in `folder`.

    Raises `TooLarge` (a `BadDump`) beyond `max_bytes` of content and for a decompression bomb (see `budget`).
    Raises `BadDump` where a compressed stream gives nothing.
    No file is left behind then. The caller removes `path` when done. A beginning ends there instead, without a word:
    it is said when the whole is read.
    """
    handle, name = tempfile.mkstemp(prefix="spool-", dir=folder)
    path = Path(name)
    try:
        with os.fdopen(handle, "wb") as out:
            return _copy(stream, out, path, max_bytes, is_beginning)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def in_memory(stream: BinaryIO, *, max_bytes: int) -> bytes:
    """The content of `stream`, decompressed as `spool` does. Raises `BadDump` where it is damaged, and `TooLarge`:

    of what is compressed no more than `MOST_UNPACKED` comes out, and from the first megabyte no bomb.
    """
    source = _Counted(stream)
    most = min(max_bytes, MOST_UNPACKED) if source.compression else max_bytes
    try:
        return b"".join(_content(source, Budget(most=most, free=PIECE)))
    except _Damaged as damage:
        raise BadDump(str(damage), f"byte {source.count} of the compressed body") from damage


def _copy(stream: BinaryIO, out: BinaryIO, path: Path, max_bytes: int, is_beginning: bool) -> Spooled:
    source = _Counted(stream)
    digest, size = hashlib.sha256(), 0
    problem = None
    try:
        for piece in _content(source, Budget(most=sys.maxsize if is_beginning else max_bytes)):
            digest.update(piece)
            size += out.write(piece[: max_bytes - size])
            if is_beginning and size == max_bytes:
                break
    except _Damaged as damage:
        problem = Problem(f"byte {source.count} of the compressed file", str(damage))
        if not (size or is_beginning):
            raise BadDump(f"it cannot be decompressed: {damage}", problem.at) from damage
    except TooLarge:
        if not is_beginning:
            raise
    packed = source.count if source.is_packed else None
    return Spooled(path, digest.hexdigest(), size, problem, packed)


class _Counted:
    """A stream with the count of bytes read so far; its first bytes can be looked at before."""

    def __init__(self, stream: BinaryIO) -> None:
        self.count = 0
        self._stream = stream
        self._head = b""
        while len(self._head) < LONGEST_MARK and (piece := stream.read(PIECE)):
            self._head += piece
        self.compression = packed_as(self._head)
        self.is_packed = self.compression is not None or self._head.startswith(HOLDING_MORE)

    def read(self, size: int) -> bytes:
        piece = self._head[:size] or self._stream.read(size)
        self._head = self._head[size:]
        self.count += len(piece)
        return piece


def _content(source: _Counted, budget: Budget) -> Iterator[bytes]:
    for piece in _decompressed(source) if source.compression else iter(partial(source.read, PIECE), b""):
        budget.came = source.count
        place = f"byte {source.count} of the compressed file" if source.compression else f"byte {budget.most}"
        budget.take(len(piece), place)
        yield piece


def _decompressed(source: _Counted) -> Iterator[bytes]:
    """What the stream holds, several gzip members or zstd frames one after the other included."""
    kind, opened = PACKED[source.compression or b""]
    with opened(cast(BinaryIO, source)) as file:
        try:
            while piece := file.read1(PIECE):
                yield piece
        except EOFError:
            raise _Damaged("the compressed file ends in the middle; what came before was read") from None
        except DAMAGE as error:
            if file.tell() and any(words in str(error) for words in _TRAILING):
                reason = f"something that is not {kind} follows the end of the {kind} data; it was left out"
                raise _Damaged(reason) from error
            raise _Damaged(f"the {kind} data is damaged ({error})") from error


def packed_text(data: bytes) -> str:
    """Bytes of a body as text, unpacked where they are gzip, zstd or deflate; what is no text is marked as such."""
    with suppress(UnicodeDecodeError):
        return data.decode("utf-8")
    if b"event-type" in data and not data.startswith(_PACKED_BODIES):
        return data.decode("latin-1")  # Amazon's frames, whose JSON is ASCII
    for unpacker in (zstd.ZstdDecompressor(), zlib.decompressobj(_GZIP_OR_ZLIB), zlib.decompressobj(_BARE)):
        with suppress(zstd.ZstdError, zlib.error, UnicodeDecodeError):
            budget = Budget(len(data), most=current().characters(), free=PIECE)
            unpacked = unpacker.decompress(data, budget.most + 1)
            budget.take(len(unpacked), "a compressed body")
            return unpacked.decode("utf-8")
    return data.decode("utf-8", "replace")
