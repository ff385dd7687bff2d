"""No body of any route, however it is packed, makes the server grow by more than 300 MB: it runs on its own here."""

from __future__ import annotations

import gzip
import http.client
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from webapp.app import create_app
from webapp.config import MEGABYTE, Settings

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ROOT = Path(__file__).resolve().parents[3]
MOST = 300 * MEGABYTE
TIMES = 50
FORM, JSON, PROTOBUF = "application/x-www-form-urlencoded", "application/json", "application/x-protobuf"
PARTS = b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n'
FILES = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.json"\r\n\r\n[]\r\n'
UNPACKED = 15 * MEGABYTE
"""of what is compressed: below what a dump may be on its first megabytes"""


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


PLAIN: dict[str, tuple[str, Callable[[int], bytes]]] = {
    "urlencoded": (FORM, lambda size: b"a=&" * (size // 3)),
    "urlencoded names": (FORM, lambda size: b"&".join(b"a%d" % number for number in range(size // 8))),
    "multipart": ("multipart/form-data; boundary=b", lambda size: PARTS * (size // len(PARTS)) + b"--b--"),
    "multipart files": ("multipart/form-data; boundary=b", lambda size: FILES * (size // len(FILES)) + b"--b--"),
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
    "records": (PROTOBUF, spans),
}
PACKED = (
    "lists",
    "objects",
    "an object of objects",
    "spans as JSON",
    "events as JSON",
    "spans",
    "attributes",
    "groups",
)
UNPACKING = ("/v1/",)
"""paths of the routes that unpack in memory; a dump that is unpacked is read from disk, in proportion to its entries"""
PACKERS: dict[str, Callable[[bytes], bytes]] = {"gzip": lambda data: gzip.compress(data, 5), "zstd": zstd.compress}


@cache
def body(name: str, packer: str, size: int) -> bytes:
    data = PLAIN[name][1](size)
    return PACKERS[packer](data) if packer else data


def routes(folder: Path) -> list[tuple[str, str]]:
    """Every route that takes a body, with the ids of nothing filled in."""
    app = create_app(Settings(data=folder, database=f"sqlite:///{folder / 'r.sqlite3'}"))
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
    running = Server(tmp_path_factory.mktemp("growing"))
    yield running
    running.process.send_signal(signal.SIGINT)
    running.process.wait(60)
    assert running.process.stdout
    running.process.stdout.close()


@pytest.fixture(scope="module")
def every_route(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    return routes(tmp_path_factory.mktemp("routes"))


def sendings() -> list[tuple[str, str]]:
    plain = [(name, "") for name in PLAIN]
    return plain + [(name, packer) for name in PACKED for packer in PACKERS]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize(("name", "packer"), sendings(), ids=lambda part: part or "plain")
def test_no_route_grows(server: Server, every_route: list[tuple[str, str]], name: str, packer: str) -> None:
    content = body(name, packer, UNPACKED if packer else MEGABYTE)
    headers = {"Content-Type": PLAIN[name][0]} | ({"Content-Encoding": packer} if packer else {})
    for method, path in every_route:
        if packer and not path.startswith(UNPACKING):
            continue
        before = server.bytes_of("VmRSS")
        Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")  # the peak begins anew
        status = server.send(method, path, content, headers)
        grown = server.bytes_of("VmHWM") - before
        assert status < 500, (method, path, status)
        assert grown < max(MOST, TIMES * len(content)), (method, path, status, grown // MEGABYTE)
