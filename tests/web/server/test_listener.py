"""Many connections, slow ones, and ones that say nothing: none takes the server from the others."""

from __future__ import annotations

import http.client
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest

from webapp.web.server import connection, listener

Address = tuple[str, int]
PROMPT = 10.0
"""seconds: a hundredth of it on an idle machine; what is blocked takes 29 and more"""


def seconds_of_the_list(address: Address) -> float:
    begun = time.perf_counter()
    client = http.client.HTTPConnection(*address, timeout=20)
    client.request("GET", "/")
    answer = client.getresponse()
    assert answer.status == 200 and b"Fencepost" in answer.read()
    client.close()
    return time.perf_counter() - begun


@pytest.fixture
def sockets(address: Address) -> Iterator[Callable[[int], list[socket.socket]]]:
    with ExitStack() as stack:
        yield lambda count: [stack.enter_context(socket.create_connection(address, 10)) for _ in range(count)]


def test_slow_headers_of_500_sockets_leave_the_list_prompt(
    address: Address, sockets: Callable[[int], list[socket.socket]]
) -> None:
    seconds_of_the_list(address)
    slow = sockets(500)
    for each in slow:
        with suppress(OSError):
            each.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
    assert seconds_of_the_list(address) < PROMPT
    for each in slow:
        with suppress(OSError):
            each.sendall(b"a")
    assert seconds_of_the_list(address) < PROMPT


def test_idle_sockets_leave_the_list_prompt(address: Address, sockets: Callable[[int], list[socket.socket]]) -> None:
    sockets(300)
    assert seconds_of_the_list(address) < PROMPT


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


def test_who_does_not_read_the_answer_is_given_up(address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BODY_SECONDS", 0.5)
    monkeypatch.setattr(connection, "IDLE_SECONDS", 1)
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(20)
        client.connect(address)
        asked = b"GET /static/vendor/htmx-4.0.1.min.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        client.sendall(asked * 60)
        time.sleep(5)
        with suppress(ConnectionError):
            size = len(client.makefile("rb").read())
            assert size < 60 * 40_000
    assert seconds_of_the_list(address) < PROMPT


def test_writers_that_wait_hold_up_no_reader(serving: Callable[..., Address], tmp_path: Path) -> None:
    address = serving()
    seconds_of_the_list(address)
    body = b'{"session_id": "s", "entries": [{"node_type": "agent", "role": "assistant", "content": "{}"}]}'
    with ExitStack() as stack:
        lock = stack.enter_context(closing(sqlite3.connect(tmp_path / "w.sqlite3", isolation_level=None)))
        lock.execute("BEGIN IMMEDIATE")
        for _ in range(8):
            client = stack.enter_context(closing(http.client.HTTPConnection(*address, timeout=60)))
            client.request("POST", "/api/dumps", body)
        time.sleep(1)
        assert seconds_of_the_list(address) < PROMPT
        lock.execute("ROLLBACK")
