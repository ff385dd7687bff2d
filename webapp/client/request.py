"""Sends a session's entries to the server, as a dump that grows."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from typing import BinaryIO
from urllib.parse import quote, urlencode, urlsplit

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
