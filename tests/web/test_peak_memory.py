"""No body of any route, however it is packed, makes the server grow by more than 300 MB: it runs on its own here."""

from __future__ import annotations

import gzip
import http.client
import itertools
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from flask import Flask

from tests.dumps.test_bombs import BOMBS
from webapp.app import create_app
from webapp.config import MEGABYTE, Settings
from webapp.store.db import locks
from webapp.store.jobs.worker import WORKER as LOCK

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ROOT = Path(__file__).resolve().parents[2]
MOST = 300 * MEGABYTE
TIMES = 50
SHARE = 4
"""A quarter of a megabyte may take a quarter of what a megabyte may."""
FORM, JSON, PROTOBUF = "application/x-www-form-urlencoded", "application/json", "application/x-protobuf"
MULTIPART = "multipart/form-data; boundary=b"
PARTS = b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n'
FILES = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.json"\r\n\r\n[]\r\n'
OTHER_FILES = FILES.replace(b'"file"', b'"else"')
"""Files that no route reads: reading hundreds of empty dumps takes a minute, holding them is what is measured."""


def files(size: int) -> bytes:
    """As many parts as may be in a request of a megabyte, one of ten of them a dump."""
    return (FILES + 9 * OTHER_FILES) * (size // len(FILES) // 200) + b"--b--"


def wrapped(head: bytes, inner: bytes) -> bytes:
    """`inner` as a protobuf field of bytes."""
    size, out = len(inner), bytearray()
    while size > 127:
        out.append(size & 127 | 128)
        size >>= 7
    return head + bytes(out) + bytes([size]) + inner


def spans(size: int) -> bytes:
    return wrapped(b"\x0a", wrapped(b"\x12", b"\x12\x00" * (size // 2)))


def spans_json(size: int) -> bytes:
    return b'{"resourceSpans":[{"scopeSpans":[{"spans":[' + b"{}," * (size // 3) + b"{}]}]}]}"


def events_json(size: int) -> bytes:
    return b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"events":[' + b"{}," * (size // 3) + b"{}]}]}]}]}"


def entry(content: bytes) -> bytes:
    return b'{"entries":[{"node_type":"agent","role":"assistant","content":' + content + b"}]}"


PLAIN: dict[str, tuple[str, Callable[[int], bytes]]] = {
    "urlencoded": (FORM, lambda size: b"a=&" * (size // 3)),
    "urlencoded names": (FORM, lambda size: b"&".join(b"a%d" % number for number in range(size // 8))),
    "multipart": (MULTIPART, lambda size: PARTS * (size // len(PARTS)) + b"--b--"),
    "multipart files": (MULTIPART, files),
    "lists": (JSON, lambda size: b"[[" + b"[]," * (size // 3) + b"[]]]"),
    "objects": (JSON, lambda size: b'{"entries":[{"a":[' + b"{}," * (size // 3) + b"{}]}]}"),
    "an object of objects": (JSON, lambda size: b'{"expected":[[' + b'{"a":0},' * (size // 8) + b"0]]}"),
    "deep": (JSON, lambda size: b"[" * size),
    "spans as JSON": (JSON, spans_json),
    "events as JSON": (JSON, events_json),
    "spans": (PROTOBUF, spans),
    "attributes": (
        PROTOBUF,
        lambda size: wrapped(b"\x0a", wrapped(b"\x12", wrapped(b"\x12", b"\x4a\x00" * (size // 2)))),
    ),
    "groups": (PROTOBUF, lambda size: b"\x0a\x00" * (size // 2)),
}
BOMB = MEGABYTE
"""unpacked: of more values than are taken, and no more of them than are passed over in a second"""
PACKED: dict[str, tuple[str, Callable[[], bytes]]] = {
    "lists": (JSON, lambda: PLAIN["lists"][1](BOMB)),
    "spans as JSON": (JSON, lambda: spans_json(BOMB)),
    "events as JSON": (JSON, lambda: events_json(BOMB)),
    "spans": (PROTOBUF, lambda: spans(BOMB)),
    "groups": (PROTOBUF, lambda: PLAIN["groups"][1](BOMB // 4)),
    "events, nearly too many": (JSON, lambda: events_json(3 * 78_000)),
    "attributes, nearly too many": (
        PROTOBUF,
        lambda: wrapped(b"\x0a", wrapped(b"\x12", wrapped(b"\x12", b"\x4a\x06\x0a\x00\x12\x02\x0a\x00" * 190_000))),
    ),
    "texts, nearly too many": (JSON, lambda: entry(b"[" + b'"0000000",' * 390_000 + b"0]")),
    "a text, nearly too long": (JSON, lambda: entry(b'"' + b"a" * 7 * MEGABYTE + '🙂"'.encode())),
    "a text that is too long": (JSON, lambda: entry(b'"' + b"a" * 60 * MEGABYTE + '🙂"'.encode())),
}
"""What unpacks to far more than it was: beyond a limit, or just within all of them."""
PACKERS: dict[str, Callable[[bytes], bytes]] = {"gzip": lambda data: gzip.compress(data, 5), "zstd": zstd.compress}


SIGNALS = ("/v1/traces", "/v1/logs", "/v1/metrics")
OF_DUMPS = ("/api/dumps?again", "/api/dumps", "/dumps")
WITH_FILES = ("/api/dumps", "/dumps")
EVERYWHERE = ("lists", "groups", "a text that is too long")


def doors(name: str) -> list[tuple[str, bytes, dict[str, str]]]:
    """Each route that unpacks, with the body and its headers: of a request, or of a file in it.

    The packers take turns, and the next body begins with the other one: each is used for each body and at each route.
    Three bodies go everywhere. Of the others, logs and metrics get none, for they are unpacked as traces are, and of
    the routes that take dumps, which are read alike once they are unpacked, each gets every third.
    """
    packers = itertools.cycle(PACKERS)
    turn = list(PACKED).index(name)
    if turn % 2:
        next(packers)
    paths = (*SIGNALS, *OF_DUMPS) if name in EVERYWHERE else (SIGNALS[0], OF_DUMPS[turn % 3])
    return [door(path, name, next(packers)) for path in paths]


def door(path: str, name: str, packer: str) -> tuple[str, bytes, dict[str, str]]:
    kind, content = PACKED[name][0], PACKERS[packer](PACKED[name][1]())
    if path not in WITH_FILES:
        return path, content, {"Content-Type": kind, "Content-Encoding": packer}
    disposition = f'Content-Disposition: form-data; name="file"; filename="{name}.json.{packer}"'
    file = f"--b\r\n{disposition}\r\n\r\n".encode() + content + b"\r\n--b--\r\n"
    return path, file, {"Content-Type": MULTIPART}


def routes(app: Flask) -> list[tuple[str, str]]:
    """Every route that takes a body, with the ids of nothing filled in."""
    unsafe = {"POST", "PUT", "PATCH", "DELETE"}
    rules = [(method, rule) for rule in app.url_map.iter_rules() for method in (rule.methods or set()) & unsafe]
    return sorted((method, re.sub(r"<[^>]*signal>", "logs", _filled(rule.rule))) for method, rule in rules)


def _filled(path: str) -> str:
    return re.sub(r"<(?!any)[^>]*>", "1", path)


class Server:
    """A server in a process of its own, and the most memory that it ever had."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "webapp", "serve", "--port", "0", "--no-examples"],
            cwd=ROOT,
            env={**os.environ, "FENCEPOST_DATA": str(folder)},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout
        match = re.search(r"http://(127\.0\.0\.1:\d+)", self.process.stdout.readline())
        assert match
        self.host = match[1]

    def bytes_of(self, field: str) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        match = re.search(rf"{field}:\s*(\d+) kB", status)
        assert match
        return int(match[1]) * 1024

    def send(self, method: str, path: str, content: bytes, headers: dict[str, str]) -> int:
        client = http.client.HTTPConnection(self.host, timeout=240)
        try:
            client.request(method, path, content, headers)
            answer = client.getresponse()
            answer.read()
            return answer.status
        finally:
            client.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Its worker is held off: requests that leave something to it would start one, for seconds each."""
    folder = tmp_path_factory.mktemp("growing")
    with locks.hold_file(folder, LOCK):
        running = Server(folder)
        yield running
    running.process.send_signal(signal.SIGINT)
    running.process.wait(60)
    assert running.process.stdout
    running.process.stdout.close()


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Flask:
    folder = tmp_path_factory.mktemp("routes")
    return create_app(Settings(data=folder, database=f"sqlite:///{folder / 'r.sqlite3'}"))


@pytest.fixture(scope="module")
def every_route(app: Flask) -> list[tuple[str, str]]:
    return routes(app)


def grown(server: Server, method: str, path: str, content: bytes, headers: dict[str, str]) -> tuple[int, int]:
    """The answer's status, and by how many bytes the process was larger meanwhile than before."""
    before = server.bytes_of("VmRSS")
    Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")  # the peak begins anew
    status = server.send(method, path, content, headers)
    return status, server.bytes_of("VmHWM") - before


pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")


@pytest.mark.parametrize("name", PLAIN)
def test_no_route_grows(server: Server, every_route: list[tuple[str, str]], name: str) -> None:
    """JSON and protobuf at routes of programs, forms at pages: one of four at each, and all where bodies are read."""
    kind, make = PLAIN[name]
    turn, is_form = list(PLAIN).index(name), kind in (FORM, MULTIPART)
    for number, (method, path) in enumerate(every_route):
        is_asked = path.startswith(("/api/", "/v1/")) != is_form and (
            (number + turn) % 4 == 0 or method == "PUT" or path.startswith(("/api/dumps", "/v1/"))
        )
        if not is_asked and not path.startswith("/dumps"):
            continue
        content = make(MEGABYTE // SHARE)
        status, growth = grown(server, method, path, content, {"Content-Type": kind})
        assert status < 500, (method, path, status)
        assert growth < max(MOST // SHARE, TIMES * len(content)), (method, path, status, growth // MEGABYTE)


@pytest.mark.parametrize("name", PACKED)
def test_no_route_that_unpacks_grows(server: Server, name: str) -> None:
    for path, content, headers in doors(name):
        status, growth = grown(server, "POST", path, content, headers)
        assert status < 500, (path, status)
        assert growth < max(MOST, TIMES * len(content)), (path, status, growth // MEGABYTE)


@pytest.mark.parametrize("name", ["computed.db", "circles.db", "one_text.parquet", "gzip.har"])
def test_the_server_answers_while_it_reads_a_bomb(server: Server, name: str, tmp_path: Path) -> None:
    """Each kind of work that a file can make us do; `tests/dumps/test_bombs.py` has all of them, without a server."""
    content = BOMBS[name](tmp_path)
    with ThreadPoolExecutor(1) as beside:
        sent = beside.submit(grown, server, "POST", f"/api/dumps?filename={name}", content, {})
        answered = [server.send("GET", "/healthz", b"", {})]
        while not sent.done():
            time.sleep(0.05)
            answered.append(server.send("GET", "/healthz", b"", {}))
    status, growth = sent.result()
    assert status < 500 and set(answered) == {200}
    assert growth < MOST, growth // MEGABYTE


def test_other_routes_refuse_what_is_packed_in_words(app: Flask, every_route: list[tuple[str, str]]) -> None:
    for kind, packer in ((FORM, "gzip"), (MULTIPART, "br"), (JSON, "zstd"), (PROTOBUF, "br")):
        client, headers = app.test_client(), {"Content-Encoding": packer}
        for method, path in every_route:
            if path.startswith("/v1/") or (path == "/api/dumps" and packer != "br"):
                continue
            answer = client.open(path, method=method, data=b"\x1f\x8b", content_type=kind, headers=headers)
            if answer.status_code == 404 and path.startswith(("/account", "/audit", "/login/oidc")):
                continue  # this server has no accounts
            said = answer.text.replace("'", "&#39;")
            assert answer.status_code == 415 and f"Content-Encoding &#39;{packer}" in said, path


def test_an_item_that_is_too_large_packed_is_said_and_taken_plain(app: Flask) -> None:
    big = entry(b'"' + b"a" * 9 * MEGABYTE + b'"')
    small = app.test_client().post("/api/dumps", data=gzip.compress(big), query_string={"filename": "a.json"})
    assert any("8 MB" in problem["reason"] for problem in small.json["problems"])
    assert "fencepost ingest" in small.json["problems"][0]["reason"]
    plain = app.test_client().post("/api/dumps", data=big + b" ", query_string={"filename": "b.json"})
    assert plain.status_code == 201 and plain.json["dump"]["turns"] == 1
