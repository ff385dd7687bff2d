"""Puts an incoming stream on disk, decompressed and hashed, in pieces: nothing is ever held whole in memory."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from webapp.dumps.records import BadDump, Problem, TooLarge

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdDecompressor, ZstdError
else:
    from backports.zstd import ZstdDecompressor, ZstdError

PIECE = 1024 * 1024
RATIO = 200
"""Logs of real agents shrink 5 to 40 times; what shrinks more than this is a bomb …"""
RATIO_FROM = 64 * PIECE
"""… but only once this much has come out, so that a small repetitive file is no bomb."""

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True, slots=True)
class Spooled:
    """A dump on disk: `path` holds the decompressed content, whose hash and size `sha256` and `bytes` are.

    `problem` says that the compressed stream was cut or damaged; what came before that place is in `path`.
    """

    path: Path
    sha256: str
    bytes: int
    problem: Problem | None = None


class _Decompressor(Protocol):
    """What gzip and zstd have in common here: bytes in, at most `PIECE` bytes out at a time."""

    def pieces(self, data: bytes) -> Iterator[bytes]: ...

    @property
    def finished(self) -> bool: ...


class _Damaged(Exception):
    """The compressed stream is not valid from here on."""


def spool(stream: BinaryIO, folder: Path, *, max_bytes: int) -> Spooled:
    """Write `stream`, decompressed where it is gzip or zstd (told by its first bytes), to a new file in `folder`.

    Raises `TooLarge` (a `BadDump`) beyond `max_bytes` of content and for a decompression bomb: more than `RATIO`
    times its compressed size once past `RATIO_FROM`. Raises `BadDump` where a compressed stream gives nothing.
    No file is left behind then. The caller removes `path` when done.
    """
    handle, name = tempfile.mkstemp(prefix="spool-", dir=folder)
    path = Path(name)
    try:
        with os.fdopen(handle, "wb") as out:
            return _copy(stream, out, path, max_bytes)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def in_memory(stream: BinaryIO, *, max_bytes: int) -> bytes:
    """The content of `stream`, decompressed as `spool` does. Raises `BadDump` where it is damaged, and `TooLarge`."""
    pieces, size, source = [], 0, _Counted(stream)
    try:
        for piece in _content(source):
            size += len(piece)
            _refuse_too_large(size, source, max_bytes)
            pieces.append(piece)
    except _Damaged as damage:
        raise BadDump(str(damage), f"byte {source.count} of the compressed body") from damage
    return b"".join(pieces)


def _copy(stream: BinaryIO, out: BinaryIO, path: Path, max_bytes: int) -> Spooled:
    digest, size, source = hashlib.sha256(), 0, _Counted(stream)
    problem = None
    try:
        for piece in _content(source):
            size += len(piece)
            _refuse_too_large(size, source, max_bytes)
            digest.update(piece)
            out.write(piece)
    except _Damaged as damage:
        problem = Problem(f"byte {source.count} of the compressed file", str(damage))
        if not size:
            raise BadDump(f"nothing can be decompressed: {damage}", problem.at) from damage
    return Spooled(path, digest.hexdigest(), size, problem)


def _refuse_too_large(size: int, source: _Counted, max_bytes: int) -> None:
    if size > max_bytes:
        limit = f"{max_bytes // PIECE} MB" if max_bytes >= PIECE else f"{max_bytes} bytes"
        raise TooLarge(f"the dump is larger than {limit}, the most that is taken", f"byte {max_bytes}")
    if source.compressed and size > RATIO_FROM and size > RATIO * source.count:
        reason = f"a decompression bomb: {source.count} bytes became more than {size // PIECE} MB"
        raise TooLarge(reason, f"byte {source.count} of the compressed file")


class _Counted:
    """A stream read in pieces, with the count of bytes read so far."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.count = 0
        self.compressed = False

    def pieces(self) -> Iterator[bytes]:
        while piece := self.stream.read(PIECE):
            self.count += len(piece)
            yield piece


def _content(source: _Counted) -> Iterator[bytes]:
    pieces = source.pieces()
    head = b""
    while len(head) < len(ZSTD) and (piece := next(pieces, b"")):
        head += piece
    kind = _Gzip if head.startswith(GZIP) else _Zstd if head.startswith(ZSTD) else None
    if kind is None:
        yield head
        yield from pieces
        return
    source.compressed = True
    yield from _decompressed(kind(), head, pieces)


def _decompressed(decompressor: _Decompressor, head: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
    yield from decompressor.pieces(head)
    for piece in pieces:
        yield from decompressor.pieces(piece)
    if not decompressor.finished:
        raise _Damaged("the compressed file ends in the middle; what came before was read")


class _Gzip:
    """gzip, several members one after the other included (RFC 1952)."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(wbits=31)
        self._rest = b""
        self._between = False

    @property
    def finished(self) -> bool:
        return self._between and not self._rest

    def pieces(self, data: bytes) -> Iterator[bytes]:
        data, self._rest = self._rest + data, b""
        while data:
            if self._between and not (data := self._next_member(data)):
                return
            try:
                out = self._member.decompress(data, PIECE)
            except zlib.error as error:
                raise _Damaged(f"the gzip data is damaged ({error})") from error
            if out:
                yield out
            self._between = self._member.eof
            data = self._member.unused_data if self._member.eof else self._member.unconsumed_tail

    def _next_member(self, data: bytes) -> bytes:
        """Begin a member at `data`, past the zeros that tape tools append; b"" where more is needed to tell."""
        data = data.lstrip(b"\0")
        if len(data) < len(GZIP):
            self._rest = data
            return b""
        if not data.startswith(GZIP):
            raise _Damaged("something that is not gzip follows the end of the gzip data; it was left out")
        self._member, self._between = zlib.decompressobj(wbits=31), False
        return data


class _Zstd:
    """zstd, several frames one after the other included (RFC 8878)."""

    def __init__(self) -> None:
        self._frame = ZstdDecompressor()

    @property
    def finished(self) -> bool:
        return bool(self._frame.eof)

    def pieces(self, data: bytes) -> Iterator[bytes]:
        while True:
            if self._frame.eof:
                if not data:
                    return
                self._frame = ZstdDecompressor()
            try:
                out = self._frame.decompress(data, PIECE)
            except ZstdError as error:
                raise _Damaged(f"the zstd data is damaged ({error})") from error
            if out:
                yield out
            if not self._frame.eof and self._frame.needs_input:
                return
            data = self._frame.unused_data if self._frame.eof else b""
