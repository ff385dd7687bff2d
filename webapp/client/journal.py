"""What one session recorded so far, in a file of the spool or in memory, and how it is sent: as a dump that grows."""

from __future__ import annotations

import contextlib
import http.client
import io
import os
import re
import secrets
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote, urlencode, urlsplit

if sys.platform != "win32":
    import fcntl

MOST_SPOOLED = 512 * 1024 * 1024  # bytes of one session on disk; without a disk an eighth of that, in memory


class Journal:
    """A session's entries one a line: in a file that is locked while it grows, in memory where there is no disk."""

    def __init__(self, file: BinaryIO, path: Path | None) -> None:
        self.path, self._file, self._size = path, file, 0
        self._most = MOST_SPOOLED if path else MOST_SPOOLED // 8

    @classmethod
    def new(cls, folder: Path | None, session: str) -> Journal:
        """A file of its own; it gets its name only once it is locked, so that nobody takes it for left over."""
        if folder is None:
            return cls(io.BytesIO(), None)
        name = f"{time.time_ns()}-{secrets.token_hex(4)}-{re.sub('[^A-Za-z0-9_-]+', '_', session)[:60]}"
        making = folder / f"{name}.making"
        try:
            handle = os.open(making, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        except OSError:
            return cls(io.BytesIO(), None)
        file = os.fdopen(handle, "r+b", buffering=0)
        locked(file)
        return cls(file, making.replace(folder / f"{name}.jsonl"))

    def append(self, data: bytes) -> int:
        """The size after it. Raises `OSError` and `BufferError`; the journal is as it was then."""
        if self._size + len(data) > self._most:
            raise BufferError(f"the session is longer than {self._most} bytes")
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            self._file.truncate(self._size)
            self._file.seek(self._size)
            raise
        self._size += len(data)
        return self._size

    def reading(self) -> BinaryIO:
        """What was written so far."""
        if isinstance(self._file, io.BytesIO):
            return io.BytesIO(self._file.getvalue())
        return Path(str(self.path)).open("rb")

    def end(self, sent: int) -> int:
        """Remove the file where all of it was sent; how many entries are lost, which only those in memory can be."""
        with self._file as file:
            if isinstance(file, io.BytesIO):
                return file.getvalue()[sent:].count(b"\n")
            if self.path is not None and sent == self._size:
                self.path.unlink(missing_ok=True)
            return 0


def whole_lines(file: BinaryIO) -> int:
    """Bytes up to the last line feed: the program may have been killed in the middle of a line."""
    end = file.seek(0, 2)
    while (start := max(0, end - 65536)) < end:
        file.seek(start)
        if (at := file.read(end - start).rfind(b"\n")) >= 0:
            return start + at + 1
        end = start
    return 0


def locked(file: BinaryIO) -> bool:
    """Lock a spool file; False where its recorder lives. Without `fcntl` a live one's may be sent, which is safe."""
    if sys.platform == "win32":
        return True
    with contextlib.suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


TIMEOUT = 60.0  # seconds that the server has for an answer: it reads the whole session in that time
FINAL = frozenset({400, 404, 405, 413, 415, 422})  # what a server answers to what it will never take


class Refused(Exception):
    """The server answered, and did not take what was sent."""

    def __init__(self, status: int, answer_text: str) -> None:
        super().__init__(f"the server answered {status}: {answer_text[:500]}")
        self.status = status


def post(url: str, token: str | None, file: BinaryIO, size: int, filename: str) -> None:
    """Send the first `size` bytes of `file` as a dump. Raises `Refused`, and `OSError` where nobody answers."""
    parts = urlsplit(url)
    connect = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = connect(parts.hostname or "", parts.port, timeout=TIMEOUT)
    query = urlencode({"filename": filename, "format": "recorder"}, errors="replace")
    headers = {"Content-Length": str(size)} | ({"Authorization": f"Bearer {token}"} if token else {})
    try:
        target = f"{quote(parts.path.rstrip('/'), safe='/%')}/api/dumps?{query}"
        connection.request("POST", target, body=_beginning(file, size), headers=headers)
        answer = connection.getresponse()
        answer_text = answer.read(65536).decode(errors="replace")
    finally:
        connection.close()
    if answer.status not in (200, 201):
        raise Refused(answer.status, answer_text)


def _beginning(file: BinaryIO, size: int) -> Iterator[bytes]:
    file.seek(0)
    while size > 0 and (piece := file.read(min(size, 256 * 1024))):
        size -= len(piece)
        yield piece
