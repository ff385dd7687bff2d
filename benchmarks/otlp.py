"""Spans a second that Fencepost takes for good, beside a bare server that only decodes and inserts the same bodies.

    python benchmarks/otlp.py [--seconds 20] [--exporters 2] [--session one|many]

Each exporter is a process that posts requests of 512 spans of 1.5 KB, gzip, one after the other, as the SDK's batch
processor does. A span counts once it is answered with 200; at the end the database is asked whether it has them all.
"""

from __future__ import annotations

import argparse
import gzip
import http.client
import json
import multiprocessing
import os
import secrets
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BATCH = 512
TEXT = "x" * 500
ANSWER = '```json\n{"tool": "run_code", "arguments": {"code": "%s"}}\n```' % ("y" * 600)


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def part(number: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def attribute(key: str, value: str | int) -> bytes:
    said = part(1, value) if isinstance(value, str) else varint(3 << 3) + varint(value)
    return part(9, part(1, key) + part(2, said))


def span(started: int, talk: str) -> bytes:
    asked = json.dumps([{"role": "user", "parts": [{"type": "text", "content": TEXT}]}])
    said = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": ANSWER}], "finish_reason": "stop"}])
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m1",
        "gen_ai.response.model": "m1-2026",
        "gen_ai.conversation.id": talk,
        "gen_ai.usage.input_tokens": 120,
        "gen_ai.usage.output_tokens": 60,
        "gen_ai.input.messages": asked,
        "gen_ai.output.messages": said,
    }
    times = struct.pack("<BQBQ", 7 << 3 | 1, started, 8 << 3 | 1, started + 1000)
    own = part(1, secrets.token_bytes(16)) + part(2, secrets.token_bytes(8)) + part(5, "chat m1") + times
    return part(2, own + b"".join(attribute(*pair) for pair in attributes.items()))


def request(talk: str) -> bytes:
    scope = part(1, part(1, "bench"))
    started = time.time_ns()
    spans = b"".join(span(started + number, talk) for number in range(BATCH))
    return gzip.compress(part(1, part(1, b"") + part(2, scope + spans)), 1)


def export(port: int, until: float, talk: str, many: bool, result: Any) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    head = {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"}
    taken = number = 0
    while time.monotonic() < until:
        number += 1
        connection.request("POST", "/v1/traces", request(f"{talk}-{number}" if many else talk), head)
        answer = connection.getresponse()
        body = answer.read()
        if answer.status == 200 and not body:
            taken += BATCH
        elif answer.status == 503:
            time.sleep(1)
        else:
            raise SystemExit(f"answered {answer.status}: {body!r}")
    result.put(taken)


BARE = """
import gzip, json, logging, sqlite3, sys
logging.disable()
sys.path.insert(0, sys.argv[1])
from waitress import create_server
from webapp.dumps import otlp_wire
base = sqlite3.connect(sys.argv[2], check_same_thread=False)
base.execute("PRAGMA journal_mode=WAL"); base.execute("PRAGMA synchronous=NORMAL")
base.execute("CREATE TABLE span (trace TEXT, span TEXT, body TEXT, PRIMARY KEY (trace, span))")
def app(environ, start):
    body = gzip.decompress(environ["wsgi.input"].read())
    groups = [group for _, group in otlp_wire.request_of(body)]
    spans = [span for group in groups for scope in group["scopeSpans"] for span in scope["spans"]]
    rows = [(span["traceId"], span["spanId"], json.dumps(span)) for span in spans]
    base.executemany("INSERT OR IGNORE INTO span VALUES (?, ?, ?)", rows)
    base.commit()
    start("200 OK", [("Content-Type", "application/x-protobuf"), ("Content-Length", "0")])
    return [b""]
server = create_server(app, host="127.0.0.1", port=0, threads=1)
print("http://127.0.0.1:%s" % server.effective_port, flush=True)
server.run()
"""


def serve(folder: Path, bare: bool) -> tuple[subprocess.Popen[str], int]:
    environ = {**os.environ, "FENCEPOST_DATA": str(folder), "PYTHONPATH": str(ROOT)}
    environ.pop("FENCEPOST_DATABASE", None)
    command = ["-m", "webapp", "serve", "--port", "0", "--no-examples"]
    if bare:
        command = ["-c", BARE, str(ROOT), str(folder / "bare.sqlite3")]
    server = subprocess.Popen([sys.executable, *command], env=environ, stdout=subprocess.PIPE, text=True)
    line = server.stdout.readline() if server.stdout else ""
    return server, int(line.partition("127.0.0.1:")[2].split()[0])


def measure(bare: bool, seconds: float, exporters: int, many: bool) -> float:
    """Spans a second; raises SystemExit where one that was answered is missing."""
    with tempfile.TemporaryDirectory() as name:
        server, port = serve(Path(name), bare)
        try:
            queue: Any = multiprocessing.Queue()
            begin = time.monotonic()
            jobs = [
                multiprocessing.Process(target=export, args=(port, begin + seconds, f"talk{number}", many, queue))
                for number in range(exporters)
            ]
            for job in jobs:
                job.start()
            taken = sum(queue.get(timeout=seconds + 180) for _ in jobs)
            took = time.monotonic() - begin
        finally:
            server.terminate()
            server.wait(30)
        base, query = ("bare.sqlite3", "span") if bare else ("fencepost.sqlite3", "live_span")
        with sqlite3.connect(Path(name) / base) as connection:
            stored = connection.execute(f"SELECT count(*) FROM {query}").fetchone()[0]
        if stored != taken:
            raise SystemExit(f"{taken} spans were answered, {stored} are stored")
        return taken / took


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reader.add_argument("--seconds", type=float, default=20)
    reader.add_argument("--exporters", type=int, default=2)
    reader.add_argument("--session", choices=["one", "many"], default="many")
    given = reader.parse_args()
    many = given.session == "many"
    floor = measure(True, given.seconds / 2, given.exporters, many)
    found = measure(False, given.seconds, given.exporters, many)
    kind = "a session a request" if many else "one growing session an exporter"
    print(f"Fencepost {found:,.0f} spans/s, bare {floor:,.0f} spans/s ({found / floor:.2f} of it), {kind}, none lost")


if __name__ == "__main__":
    main()
