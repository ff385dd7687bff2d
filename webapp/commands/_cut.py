"""Answers a sender that stops half way, or sends too much: waitress itself says nothing, or "exceeds max_body"."""

from __future__ import annotations

import time
from typing import Any

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.server import BaseWSGIServer
from waitress.utilities import BadRequest, RequestEntityTooLarge

from webapp import jsontext
from webapp.config import MEGABYTE
from webapp.web.taking import CUT


class TooLarge(RequestEntityTooLarge):  # type: ignore[misc]
    """The refusal of a body of `limit` bytes or more, in words; under `/api/` as JSON, like every other one."""

    def __init__(self, path: str, limit: int) -> None:
        super().__init__(
            f"An upload may have {limit // MEGABYTE:,} MB as it is sent (FENCEPOST_MAX_UPLOAD). Send it compressed, or"
            " read the file where the server runs: fencepost ingest FILE."
        )
        self.as_json = path.startswith("/api/")

    def to_response(self, ident: str | None = None) -> tuple[str, list[tuple[str, str]], bytes]:
        if not self.as_json:
            return super().to_response(ident)  # type: ignore[no-any-return]
        told = {"error": {"code": "too_large", "message": self.body, "at": None}}
        return f"{self.code} {self.reason}", [("Content-Type", "application/json")], jsontext.dumps(told).encode()


class Parser(HTTPRequestParser):  # type: ignore[misc]
    """A request whose body is refused in our words where it is too large."""

    error: Any

    def received(self, data: bytes) -> int:
        count: int = super().received(data)
        if type(self.error) is RequestEntityTooLarge:
            self.error = TooLarge(self.path, self.adj.max_request_body_size)
        return count


class Channel(HTTPChannel):  # type: ignore[misc]
    """A connection whose unfinished request is answered with 400 when nothing more can come."""

    request: Any
    parser_class = Parser

    def handle_read(self) -> None:
        try:
            data = self.socket.recv(self.adj.recv_bytes)
        except BlockingIOError:
            return
        except OSError:
            self.handle_close()
            return
        if data or self.request is None or self.request.empty:
            self._go_on(data)
        else:
            self._refuse()

    def _go_on(self, data: bytes) -> None:
        if not data:
            self.handle_close()
            return
        self.last_activity = time.time()
        self.received(data)

    def _refuse(self) -> None:
        with self.requests_lock:
            request, self.request = self.request, None
            request.error, request.completed = BadRequest(CUT), True
            self.requests.append(request)
            if len(self.requests) == 1:
                self.server.add_task(self)


def install(server: Any) -> None:
    """Have every connection that `server` accepts be such a channel."""
    for each in (server, *getattr(server, "map", {}).values()):
        if isinstance(each, BaseWSGIServer):
            each.channel_class = Channel
