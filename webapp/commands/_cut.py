"""Answers a sender that stops half way: waitress itself only closes such a connection, without a word."""

from __future__ import annotations

import time
from typing import Any

from waitress.channel import HTTPChannel
from waitress.server import BaseWSGIServer
from waitress.utilities import BadRequest

from webapp.web.taking import CUT


class Channel(HTTPChannel):  # type: ignore[misc]
    """A connection whose unfinished request is answered with 400 when nothing more can come."""

    request: Any

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
