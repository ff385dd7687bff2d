"""Accepts connections: more of them than waitress does, none for ever, and none of a peer at the others' cost."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import Any

from waitress import create_server
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher

from webapp.web.guards import SAFE_METHODS
from webapp.web.server.admission import Admission
from webapp.web.server.connection import Connection

MOST_CONNECTIONS = 1_000
MOST_OF_A_PEER = 250
"""Connections for which nothing is being done; beyond, that which waits longest is closed, of who has most."""
MOST_HEADER_BYTES = 64 * 1024
_FILES = 4 * MOST_CONNECTIONS


def serve(app: Any, admission: Admission, *, host: str, port: int, threads: int) -> Any:
    """A server that is bound and not yet running. Raises `OSError` where it cannot be bound."""
    _allow_files()
    server = create_server(
        app,
        _dispatcher=Dispatcher(threads),
        host=host,
        port=port,
        threads=threads,
        ident=None,
        max_request_header_size=MOST_HEADER_BYTES,
        max_request_body_size=admission.settings.max_upload + 1,
        connection_limit=2 * MOST_CONNECTIONS,  # never reached: see `Listener`
        cleanup_interval=1,
        asyncore_use_poll=True,  # select() knows 1,024 files
        clear_untrusted_proxy_headers=True,
    )
    for part in (server, *getattr(server, "map", {}).values()):
        if isinstance(part, TcpWSGIServer):
            part.admission = admission
            part.__class__ = Listener
    return server


class Dispatcher(ThreadedTaskDispatcher):  # type: ignore[misc]
    """Threads for those who read and threads for those who write: who waits for the database holds up no reader."""

    def __init__(self, threads: int) -> None:
        super().__init__()
        self.writers = ThreadedTaskDispatcher()
        self.set_thread_count(threads)
        self.writers.set_thread_count(threads)

    def add_task(self, task: Any) -> None:
        request = task.requests[0]
        if request.error is None and request.command not in SAFE_METHODS:
            self.writers.add_task(task)
        else:
            super().add_task(task)

    def shutdown(self, cancel_pending: bool = True, timeout: float = 5) -> bool:
        self.writers.set_thread_count(0)
        return bool(super().shutdown(cancel_pending, timeout) and self.writers.shutdown(cancel_pending, timeout))


class Listener(TcpWSGIServer):  # type: ignore[misc]
    """One address. waitress makes its servers itself, so a bound one becomes this."""

    admission: Admission
    channel_class = Connection
    active_channels: dict[int, Connection]

    def handle_accept(self) -> None:
        super().handle_accept()
        waiting = [each for each in self.active_channels.values() if each.is_waiting]
        peers = Counter(each.peer for each in waiting)
        for peer, count in peers.most_common(1):
            if count > MOST_OF_A_PEER or len(self.active_channels) > MOST_CONNECTIONS:
                oldest = min((each for each in waiting if each.peer == peer), key=lambda each: each.creation_time)
                oldest.handle_close()

    def maintenance(self, now: float) -> None:
        for connection in list(self.active_channels.values()):
            if connection.is_late(now):
                connection.give_up()


def _allow_files() -> None:
    """Raise this process's limit of open files to what so many connections need, as far as it may."""
    try:
        import resource
    except ImportError:  # no Unix
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
