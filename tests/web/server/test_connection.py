"""What the server refuses itself: with our headers, in words, and before a body is on the disk."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from webapp.config import MEGABYTE
from webapp.store.accounts import accounts, api_tokens
from webapp.store.db import database
from webapp.store.ingest import dump_files
from webapp.web.body_limits import FORM, REFUSED
from webapp.web.guards import HEADERS

Address = tuple[str, int]
TOKEN = "a token that is long enough"


def answer_to(address: Address, sent: bytes) -> bytes:
    with socket.create_connection(address, timeout=60) as client:
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        return client.makefile("rb").read()


def post(path: str, length: int, *headers: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {length}", *headers]
    return "\r\n".join([*lines, "", ""]).encode()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET / nonsense\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nbad header\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nX: " + b"a" * 70_000 + b"\r\n\r\n", 431),
        (post("/api/dumps", 2**40), 413),
        (post("/dumps", 2**40), 413),
        (post("/login", 5_000), 413),
        (post("/labels", FORM + 1), 413),
        (post("/playground", 5 * MEGABYTE + 1), 413),
        (b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n1388\r\n" + b"a" * 5_000, 413),
    ],
)
def test_the_servers_own_refusals_carry_our_headers(address: Address, sent: bytes, status: int) -> None:
    answer = answer_to(address, sent)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.split()[1] == str(status).encode()
    lines = head.decode().split("\r\n")
    assert all(f"{name}: {value}" in lines for name, value in HEADERS.items())
    assert "Cache-Control: no-store" in lines and body


def test_under_the_api_it_is_json(address: Address) -> None:
    answer = answer_to(address, post("/api/sessions", 2**30))
    assert "5 MB" in json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["message"]


@pytest.mark.parametrize("expect", [[], ["Expect: 100-continue"]])
def test_a_strangers_body_is_not_spooled(serving: Callable[..., Address], expect: list[str], tmp_path: Path) -> None:
    address = serving(token=TOKEN)
    with socket.create_connection(address, timeout=60) as client:
        client.sendall(post("/api/dumps", 50 * MEGABYTE, *expect))
        answer = client.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 401 ") and b"Bearer" in answer
    assert [path for path in dump_files.folder(tmp_path / "w").rglob("*") if path.is_file()] == []


def test_a_strangers_small_body_is_read_so_that_the_refusal_arrives(serving: Callable[..., Address]) -> None:
    address = serving(token=TOKEN)
    answer = answer_to(address, post("/api/dumps", REFUSED) + b"a" * REFUSED)
    assert answer.startswith(b"HTTP/1.1 401 ")


def test_a_strangers_chunks_end_where_the_limit_is(serving: Callable[..., Address]) -> None:
    head = b"POST /api/dumps HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = answer_to(serving(token=TOKEN), head + b"%x\r\n" % (REFUSED + 9) + b"a" * (REFUSED + 9))
    assert answer.startswith(b"HTTP/1.1 401 ")


def test_who_has_the_token_may_send(serving: Callable[..., Address]) -> None:
    client = http.client.HTTPConnection(*serving(token=TOKEN), timeout=60)
    client.request("POST", "/api/dumps", b" " * MEGABYTE, {"Authorization": f"Bearer {TOKEN}"})
    assert client.getresponse().status == 415
    client.close()


def test_who_signed_in_may_send(serving: Callable[..., Address]) -> None:
    address = serving(token=TOKEN)
    client = http.client.HTTPConnection(*address, timeout=60)
    client.request("POST", "/login", f"token={TOKEN}", {"Content-Type": "application/x-www-form-urlencoded"})
    answer = client.getresponse()
    answer.read()
    cookie = (answer.getheader("Set-Cookie") or "").partition(";")[0]
    assert cookie.startswith(f"fencepost-login-{address[1]}=")
    client.request("POST", "/api/dumps", b" " * MEGABYTE, {"Cookie": cookie})
    assert client.getresponse().status == 415
    client.close()


def test_a_large_body_is_for_who_has_an_account(serving: Callable[..., Address], tmp_path: Path) -> None:
    address = serving(accounts=True, proxies=("127.0.0.1/32",), proxy_header="X-Remote-User")
    engine = database.connect(f"sqlite:///{tmp_path / 'w.sqlite3'}")
    with engine.begin() as connection:
        number = accounts.add(connection, "Ada", "admin", password="correct horse battery")
        token = api_tokens.make(connection, number, "ci", ["ingest"])
    engine.dispose()
    cookie = signed_in(address)
    for header, status in (
        (f"Authorization: Bearer {token}", b"415"),
        (f"Cookie: {cookie}", b"415"),
        ("X-Remote-User: Ada", b"415"),
        (f"Authorization: Bearer {token[:-1]}", b"401"),
        (f"Cookie: {cookie[:-1]}", b"401"),
        ("X-Other-User: Ada", b"401"),
    ):
        answer = answer_to(address, post("/api/dumps", MEGABYTE, header) + b" " * MEGABYTE)
        assert answer.split()[1] == status, header


def signed_in(address: Address, name: str = "Ada") -> str:
    """The cookie of their browser."""
    client = http.client.HTTPConnection(*address, timeout=60)
    form = f"account={name}&password=correct+horse+battery"
    headers = {"Host": "127.0.0.1", "Content-Type": "application/x-www-form-urlencoded"}
    client.request("POST", "/login", form, headers)
    answer = client.getresponse()
    answer.read()
    client.close()
    return (answer.getheader("Set-Cookie") or "").partition(";")[0]


def test_without_the_right_a_large_body_is_not_spooled(serving: Callable[..., Address], tmp_path: Path) -> None:
    """A quarter of it is sent: the answer does not wait for the rest."""
    address = serving(accounts=True, proxies=("127.0.0.1/32",), proxy_header="X-Remote-User")
    engine = database.connect(f"sqlite:///{tmp_path / 'w.sqlite3'}")
    with engine.begin() as connection:
        ada = accounts.add(connection, "Ada", "admin", password="correct horse battery")
        accounts.add(connection, "Cy", "reader", password="correct horse battery")
        reading, ingesting = (api_tokens.make(connection, ada, scope, [scope]) for scope in ("read", "ingest"))
    engine.dispose()
    for path, header in (
        ("/api/dumps", f"Authorization: Bearer {reading}"),
        ("/api/dumps?background=1", f"Authorization: Bearer {reading}"),
        ("/v1/traces", f"Authorization: Bearer {reading}"),
        ("/dumps", f"Cookie: {signed_in(address, 'Cy')}"),
        ("/api/dumps", "X-Remote-User: Cy"),
        ("/api/dumps", "X-Remote-User: Nobody"),
    ):
        assert status_of(address, post(path, 4 * MEGABYTE, header) + b"a" * MEGABYTE) == b"403", (path, header)
    put = post("/api/session/a%2Fb/turns/0/label", 4 * MEGABYTE, f"Authorization: Bearer {ingesting}")
    assert status_of(address, put.replace(b"POST", b"PUT", 1) + b"a" * MEGABYTE) == b"403"
    chunked = post("/api/dumps", 0, "Transfer-Encoding: chunked", f"Authorization: Bearer {reading}")
    begun = chunked.replace(b"Content-Length: 0\r\n", b"") + b"%x\r\n" % (4 * MEGABYTE) + b"a" * MEGABYTE
    assert status_of(address, begun) == b"403"
    assert [path for path in dump_files.folder(tmp_path / "w").rglob("*") if path.is_file()] == []
    answer = answer_to(address, post("/api/dumps", MEGABYTE, f"Authorization: Bearer {ingesting}") + b" " * MEGABYTE)
    assert answer.split()[1] == b"415"


def status_of(address: Address, sent: bytes) -> bytes:
    """The status that is answered though more of the body is to come."""
    with socket.create_connection(address, timeout=60) as client:
        client.sendall(sent)
        return client.recv(64).split()[1]
