"""A connection of the server: what it may send, by when, and how it is refused where the app is never asked."""

from __future__ import annotations

import socket
import time
from functools import partial
from typing import Any

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.task import ErrorTask
from waitress.utilities import BadRequest, Error, RequestEntityTooLarge

from webapp import jsontext
from webapp.web import body_limits
from webapp.web.dumps.uploads import CUT
from webapp.web.guards import HEADERS
from webapp.web.server.admission import Admission

HEADER_SECONDS = 10
"""until a request's headers are there, and until a new connection says anything"""
IDLE_SECONDS = 60
"""between two requests, and between two pieces of a body or of an answer"""
LINGER_SECONDS = 2
"""for which a refused client's body is still read and thrown away: a reset would take the refusal from it"""
BODY_SECONDS = 60
SLOWEST = 10_000
"""bytes a second of a body, or of an answer that a thread waits for, once `BODY_SECONDS` are over"""
_CODES = {400: "bad_request", 408: "request_timeout", 413: "too_large", 431: "headers_too_large"}


class RequestTimeout(Error):  # type: ignore[misc]
    """A request that does not come to its end."""

    code = 408
    reason = "Request Timeout"


class RefusalTask(ErrorTask):  # type: ignore[misc]
    """An answer that the app never sees: with the headers of every other, and as JSON under `/api/`."""

    def execute(self) -> None:
        error = self.request.error
        self.status = f"{error.code} {error.reason}"
        path = self.channel.server.admission.own_path(getattr(self.request, "path", ""))
        kind, body = _written(error, path)
        self.response_headers.extend([("Content-Type", kind), ("Cache-Control", "no-store"), *HEADERS.items()])
        self.set_close_on_finish()
        self.content_length = len(body)
        self.write(body)


def _written(error: Any, path: str) -> tuple[str, bytes]:
    if not path.startswith("/api/"):
        return "text/plain; charset=utf-8", f"{error.reason}\n\n{error.body}\n".encode()
    value = {"error": {"code": _CODES.get(error.code, "refused"), "message": error.body, "at": None}}
    return "application/json", jsontext.portable(value).encode()


class Parser(HTTPRequestParser):  # type: ignore[misc]
    """A request whose body is limited by its route; of who may not send it, little is read, and the app says why."""

    error: Any

    def __init__(self, adj: Any, admission: Admission, peer: str) -> None:
        super().__init__(adj)
        self._peer = peer
        self.begun = time.monotonic()
        self.was_cut = False
        self._admission = admission
        self._most: int | None = None
        self._is_refused = False

    def received(self, data: bytes) -> int:
        count: int = super().received(data)
        if self.headers_finished and self._most is None and not self.empty and type(self.error) in _OF_THE_BODY:
            self._admit()
        if self._most is not None and max(self.content_length, self.body_bytes_received) > self._most:
            self._refuse()
        return len(data) if self.error or (self.connection_close and self.completed) else count

    def _admit(self) -> None:
        about = (self.command, self.request_uri, self.path, self.headers, self._peer)
        self._is_refused = self._admission.is_refused(*about)
        self._most = body_limits.REFUSED if self._is_refused else self._admission.most_bytes(self.path)

    def _refuse(self) -> None:
        self.completed, self.expect_continue, self.connection_close = True, False, True
        self.was_cut, self.headers["CONNECTION"] = True, "close"
        if self._is_refused:
            self.error, self.headers["CONTENT_LENGTH"] = None, "0"
            self.close()
            self.body_rcv = None
        else:
            self.error = RequestEntityTooLarge(self._admission.words(self.path))


_OF_THE_BODY = (type(None), RequestEntityTooLarge)


class Connection(HTTPChannel):  # type: ignore[misc]
    """One client. `is_late` says whether to give it up; an unfinished request is answered where it can be."""

    request: Any
    error_task_class = RefusalTask

    def __init__(self, server: Any, sock: Any, addr: Any, adj: Any, map: Any = None) -> None:  # noqa: A002
        self.peer = str(addr[0]) if addr else ""
        self.parser_class = partial(Parser, admission=server.admission, peer=self.peer)
        self.sent = 0
        self._blocked: tuple[float, int] | None = None
        self._refusing = False
        self._lingers_since = 0.0
        super().__init__(server, sock, addr, adj, map=map)

    @property
    def is_waiting(self) -> bool:
        """Whether nothing is being done for it: it may be given up for somebody else."""
        return not self.requests and not self.total_outbufs_len

    def send(self, data: bytes, do_close: bool = True) -> int:
        count: int = super().send(data, do_close)
        self.sent += count
        return count

    def is_late(self, now: float) -> bool:
        """`now` is `time.time()`, by which waitress counts."""
        if self._lingers_since:
            return bool(now - self._lingers_since > LINGER_SECONDS)
        quiet = now - self.last_activity
        if self.total_outbufs_len:
            return quiet > IDLE_SECONDS or self._reads_too_slowly(now)
        self._blocked = None
        if self.requests:
            return False
        if self.request is None or self.request.empty:
            return bool(quiet > (IDLE_SECONDS if self.sent else HEADER_SECONDS)) and not self._has_unread_bytes()
        lasted = time.monotonic() - self.request.begun
        if not self.request.headers_finished:
            return bool(lasted > HEADER_SECONDS)
        if quiet > IDLE_SECONDS and not self._has_unread_bytes():
            return True
        return bool(lasted > BODY_SECONDS + self.request.body_bytes_received / SLOWEST)

    def _has_unread_bytes(self) -> bool:
        """Whether its client was not quiet, but this process or its machine stood still."""
        try:
            return bool(self.socket.recv(1, socket.MSG_PEEK))
        except OSError:  # there are none, or it is gone
            return False

    def _reads_too_slowly(self, now: float) -> bool:
        """Whether its client takes an answer in so slowly that a thread may have to wait for it."""
        since, before = self._blocked = self._blocked or (now, self.sent)
        return now - since > BODY_SECONDS + (self.sent - before) / SLOWEST

    def give_up(self) -> None:
        """Say 408 to who sent a part of a request, and close where there is nobody to say it to."""
        if self._lingers_since or self.total_outbufs_len or self.request is None or self.request.empty:
            self.handle_close()
        else:
            self._refuse(RequestTimeout("The request did not arrive in time; nothing was stored."))

    def service(self) -> None:
        request = self.requests[0]
        self._refusing = request.error is not None or request.was_cut
        super().service()

    def readable(self) -> bool:
        return bool(self._lingers_since or super().readable())

    def handle_write(self) -> None:
        if not (self._refusing and self.close_when_flushed):
            super().handle_write()
        elif self._flush_exception(self._flush_some)[1]:
            self.handle_close()
        elif self.connected and not self.total_outbufs_len:  # what failed to be sent has closed it
            self._linger()

    def _linger(self) -> None:
        self.close_when_flushed, self._lingers_since = False, time.time()
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            self.handle_close()

    def handle_read(self) -> None:
        try:
            data = self.socket.recv(self.adj.recv_bytes)
        except BlockingIOError:
            return
        except OSError:
            self.handle_close()
            return
        if data and not self._lingers_since:
            self.last_activity = time.time()
            self.received(data)
        elif data:
            return
        elif self.request is None or self.request.empty:
            self.handle_close()
        else:
            self._refuse(BadRequest(CUT))

    def _refuse(self, error: Any) -> None:
        """Answer the unfinished request, of which nothing more comes or may come."""
        with self.requests_lock:
            request, self.request = self.request, None
            request.error, request.completed = error, True
            self.requests.append(request)
            if len(self.requests) == 1:
                self.server.add_task(self)
