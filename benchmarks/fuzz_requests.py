"""Sends hostile requests to every route of an app with some sessions in it: none may be answered with 500.

    python -m benchmarks.fuzz_requests [--requests 200000] [--seed 0] [--seconds 0]

Paths, queries, forms, JSON and bodies are drawn from what breaks programs: whole numbers of 65 bits, lone surrogates,
line feeds, addresses of other sites, deep nesting, NUL, damaged gzip. Exits 1 where something broke, and prints it.
The same seed sends the same requests.
"""

from __future__ import annotations

import argparse
import gzip
import json
import logging
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from flask import Flask
from flask.testing import FlaskClient

from webapp.app import create_app
from webapp.config import Settings

DUMPS = (
    b'{"session_id": "s", "entries": [{"node_type": "agent", "role": "assistant", "content": "{\\"a\\": 1,}}"}]}',
    b'{"id": "m", "messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "[1, 2"}]}',
)
TEXTS = (
    *("", "s", "m", "1", "0", "-1", "fencepost", "failed", "sample", "view"),
    *("x" * 3_000, "%00", "\0", "../../etc/passwd"),
    *(str(2**63), str(2**64), str(-(2**63) - 1), "9" * 400, "9" * 5_000, "1e999", "NaN", "0x10", "١٢", "1.5", "01"),
    *(
        "\ud800",
        "\ud83d",
        "a\nb",
        "a\r\nSet-Cookie: x=1",
        "//[evil",
        "//evil.example",
        "/\\evil",
        "http://evil.example",
    ),
    *("javascript:alert(1)", "<script>alert(1)</script>", "' OR 1=1 --", '"', "%", "%%", "%s", "{{7*7}}", "${7*7}"),
    *("\u202e", "\U000e0041", "🙂", "ﷺ", "e\u0301", "(.*)*x$", "[", "(" * 500, "a:b", "AND OR NOT", '"unclosed', "*"),
    *("[" * 3_000, "2026-11-22T00:00:00+00:00", "2026-99-99", "0000-00-00", "1-2", "9-1", "999999999-999999999"),
)
NAMES = [
    "q",
    "after",
    "limit",
    "verdict",
    "model",
    "finding",
    "label",
    "format",
    "home",
    "map",
    "filename",
    "profile",
    "a",
    "b",
    "attempt",
    "edit",
    "view",
    "r",
    "lines",
    "chars",
    "t",
    "queue",
    "size",
    "seed",
    "at",
    "ids",
    "redact",
    "redact_key",
    "redact_secrets",
    "next",
    "changed",
    "first",
    "last",
    "start",
    "from",
    "to",
    "failed",
    "sort",
    "order",
    "name",
    "query",
    "here",
    "judgement",
    "cause",
    "note",
    "expected",
    "expects",
    "author",
    "seconds",
    "seen",
    "step",
    "token",
    "text",
    "title",
    "dump",
    "batch",
    "remove",
    "like",
    "viewer",
    "show",
    "source",
    "page",
    "raw",
]
BODIES = (b"", b"{}", b"[]", b"null", b"[" * 5_000, b"\xff\xfe", b"\x1f\x8bdamaged", b"\x0a\xff\xff", *DUMPS)
TYPES = ("application/json", "application/x-protobuf", "application/x-www-form-urlencoded", "multipart/form-data", "")


class Requests:
    """Draws requests for the routes of `app`."""

    def __init__(self, app: Flask, seed: int) -> None:
        self.chance = random.Random(seed)
        self.keys = ("s", "m")
        rules = [rule for rule in app.url_map.iter_rules() if rule.endpoint != "static"]
        self.routes = [
            (rule.rule, method) for rule in rules for method in sorted((rule.methods or set()) - {"OPTIONS"})
        ]

    def draw(self) -> tuple[str, str, dict[str, Any]]:
        rule, method = self.chance.choice(self.routes)
        path = re.sub(r"<([^>]*)>", lambda match: self._segment(match[1]), rule)
        options: dict[str, Any] = {}
        if pairs := self._pairs(3):
            path += "?" + "&".join(f"{name}={_quoted(text)}" for name, text in pairs)
        if method in ("POST", "PUT", "DELETE"):
            options = self._body()
        return method, path, options

    def _segment(self, converter: str) -> str:
        if converter.startswith("any("):
            return self.chance.choice(("logs", "metrics", "other"))
        if self.chance.random() < 0.6:
            return (
                self.chance.choice(self.keys) if converter.startswith("session_id") else str(self.chance.randrange(3))
            )
        return _quoted(self.chance.choice(TEXTS)) or "x"

    def _pairs(self, most: int) -> list[tuple[str, str]]:
        count = self.chance.randrange(most + 1)
        return [(self.chance.choice(NAMES), self.chance.choice(TEXTS)) for _ in range(count)]

    def _body(self) -> dict[str, Any]:
        kind = self.chance.randrange(4)
        if kind == 0:
            body = "&".join(f"{name}={_quoted(text)}" for name, text in self._pairs(8))
            return {"data": body, "content_type": TYPES[2]}
        if kind == 1:
            value = {name: self._value() for name, _ in self._pairs(8)}
            return {"data": json.dumps(value), "content_type": TYPES[0]}
        body_bytes = self.chance.choice(BODIES)
        headers = {}
        if kind == 2 and self.chance.random() < 0.5:
            body_bytes, headers = gzip.compress(body_bytes, 1), {"Content-Encoding": "gzip"}
        return {"data": body_bytes, "content_type": self.chance.choice(TYPES), "headers": headers}

    def _value(self) -> Any:
        deep: Any = 1
        for _ in range(self.chance.choice((0, 1, 300))):
            deep = [deep]
        return self.chance.choice(
            (self.chance.choice(TEXTS), 2**70, -1, 1.5, float("nan"), None, True, deep, {"a": deep})
        )


def _quoted(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


class Tracebacks(logging.Handler):
    """Keeps what the app logs of a 500."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


def run(folder: Path, count: int, *, seed: int = 0, seconds: float = 0) -> tuple[Counter[int], list[str]]:
    """How many answers had which status, and each request that was answered with 500, with its traceback."""
    app = create_app(Settings(data=folder, database=f"sqlite:///{folder / 'f.sqlite3'}"))
    log = Tracebacks()
    app.logger.handlers, app.logger.propagate = [log], False
    client = app.test_client()
    for dump in DUMPS:
        client.post("/api/dumps", data=dump)
    statuses: Counter[int] = Counter()
    broken = list(_sent(client, Requests(app, seed), count, statuses, log, time.monotonic() + (seconds or 1e9)))
    return statuses, broken


def _sent(
    client: FlaskClient, requests: Requests, count: int, statuses: Counter[int], log: Tracebacks, ends: float
) -> Iterator[str]:
    for _ in range(count):
        if time.monotonic() > ends:
            return
        method, path, options = requests.draw()
        log.lines.clear()
        try:
            answer = client.open(path, method=method, buffered=True, **options)
        except Exception as error:  # noqa: BLE001 - this is what is looked for
            statuses[599] += 1
            yield f"{method} {path[:300]} {str(options)[:300]}: raised {error!r}"
            continue
        statuses[answer.status_code] += 1
        if answer.status_code == 500:
            yield f"{method} {path[:300]} {str(options)[:300]}\n{''.join(log.lines)[-1500:]}"


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reader.add_argument("--requests", type=int, default=200_000)
    reader.add_argument("--seed", type=int, default=0)
    reader.add_argument("--seconds", type=float, default=0, help="stop after so long; 0 goes on to the end")
    options = reader.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        statuses, broken = run(Path(folder), options.requests, seed=options.seed, seconds=options.seconds)
    print(*broken, sep="\n\n")
    print(f"{sum(statuses.values()):,} requests, {len(broken):,} answered with 500; statuses {dict(statuses)}")
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
