"""Many connections, slow ones, and ones that say nothing: none takes the server from the others."""

from __future__ import annotations

import http.client
import select
import shutil
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.store.jobs.workers import until
from webapp.commands.serve import make_server
from webapp.config import Settings
from webapp.web.server import connection, listener

Address = tuple[str, int]
LONG = 3600.0
"""seconds for which others may say nothing: who waits for them is not answered in time"""


def ask_for_the_list(address: Address) -> None:
    with closing(http.client.HTTPConnection(*address, timeout=60)) as client:
        client.request("GET", "/")
        answer = client.getresponse()
        assert answer.status == 200 and b"Fencepost" in answer.read()


@pytest.fixture
def sockets(address: Address) -> Iterator[Callable[[int], list[socket.socket]]]:
    with ExitStack() as stack:
        yield lambda count: [stack.enter_context(socket.create_connection(address, 60)) for _ in range(count)]


def test_slow_headers_of_500_sockets_leave_the_list_prompt(
    address: Address, sockets: Callable[[int], list[socket.socket]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "HEADER_SECONDS", LONG)
    ask_for_the_list(address)
    slow = sockets(500)
    for each in slow:
        with suppress(OSError):
            each.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
    ask_for_the_list(address)
    for each in slow:
        with suppress(OSError):
            each.sendall(b"a")
    ask_for_the_list(address)


def test_idle_sockets_leave_the_list_prompt(
    address: Address, sockets: Callable[[int], list[socket.socket]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "HEADER_SECONDS", LONG)
    sockets(300)
    ask_for_the_list(address)


def test_of_one_peer_who_waits_longest_is_closed(
    address: Address, sockets: Callable[[int], list[socket.socket]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "MOST_OF_A_PEER", 2)
    first, second, third = sockets(3)
    assert first.recv(1) == b""
    for each in (second, third):
        each.settimeout(0.2)
        with pytest.raises(TimeoutError):
            each.recv(1)


@pytest.mark.parametrize(
    ("sent", "setting", "status"),
    [
        (b"", "HEADER_SECONDS", b""),
        (b"GET / HTTP/1.1\r\nHost:", "HEADER_SECONDS", b"HTTP/1.0 408 "),
        (
            b"POST /api/dumps HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{",
            "IDLE_SECONDS",
            b"HTTP/1.1 408 ",
        ),
        (
            b"POST /api/dumps HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{",
            "BODY_SECONDS",
            b"HTTP/1.1 408 ",
        ),
    ],
)
def test_what_never_ends_is_given_up(
    address: Address, sent: bytes, setting: str, status: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, setting, 0.5)
    with socket.create_connection(address, timeout=60) as client:
        client.sendall(sent)
        answer = client.makefile("rb").read()
    assert answer[: len(b"HTTP/1.1 408 ")] == status
    assert not status or b"Content-Security-Policy: default-src 'none'" in answer


def test_who_said_something_that_is_not_read_yet_was_not_quiet(tmp_path: Path, migrated: Path) -> None:
    """As after a machine stood still: the server looks for who is late before it reads what has come."""
    shutil.copyfile(migrated, tmp_path / "w.sqlite3")
    settings = Settings(data=tmp_path / "w", database=f"sqlite:///{tmp_path / 'w.sqlite3'}")
    server = make_server(settings, "127.0.0.1", 0, 2, False)
    with closing(server), socket.create_connection(("127.0.0.1", server.effective_port), 60) as client:
        assert until(lambda: server.handle_accept() or server.active_channels)
        (each,) = server.active_channels.values()
        later = time.time() + 2 * connection.HEADER_SECONDS
        assert each.is_late(later)
        client.sendall(b"POST /api/dumps HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{")
        assert until(lambda: not each.is_late(later))
        each.handle_read()
        later = time.time() + 2 * connection.IDLE_SECONDS
        assert each.is_late(later)
        client.sendall(b"}")
        assert until(lambda: not each.is_late(later))
        client.shutdown(socket.SHUT_WR)
        each.handle_read()
        assert each.is_late(later)
        each.handle_close()


def test_who_does_not_read_the_answer_is_given_up(
    address: Address, listeners: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "BODY_SECONDS", 0.5)
    monkeypatch.setattr(connection, "IDLE_SECONDS", 1)
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(60)
        client.connect(address)
        asked = b"GET /static/vendor/htmx-4.0.1.min.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        client.sendall(asked * 60)
        assert client.recv(1, socket.MSG_PEEK)
        assert until(lambda: not listeners[0].active_channels)
        with suppress(ConnectionError):
            size = len(client.makefile("rb").read())
            assert size < 60 * 40_000
    ask_for_the_list(address)


def test_writers_that_wait_hold_up_no_reader(
    serving: Callable[..., Address], listeners: list[Any], tmp_path: Path
) -> None:
    address = serving()
    ask_for_the_list(address)
    body = b'{"session_id": "s", "entries": [{"node_type": "agent", "role": "assistant", "content": "{}"}]}'
    with ExitStack() as stack:
        lock = stack.enter_context(closing(sqlite3.connect(tmp_path / "w.sqlite3", isolation_level=None)))
        lock.execute("BEGIN IMMEDIATE")
        writers = [stack.enter_context(closing(http.client.HTTPConnection(*address, timeout=60))) for _ in range(8)]
        for client in writers:
            client.request("POST", "/api/dumps", body)
        connected = listeners[0].active_channels
        assert until(lambda: sum(bool(each.requests) for each in list(connected.values())) == len(writers))
        ask_for_the_list(address)
        assert select.select([client.sock for client in writers], [], [], 0)[0] == []  # none has its answer yet
        lock.execute("ROLLBACK")
