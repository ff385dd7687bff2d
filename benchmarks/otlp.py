"""Spans a second that Fencepost takes for good, beside a bare server that only decodes and inserts the same bodies.

    python benchmarks/otlp.py [--seconds 20] [--exporters 2] [--session one|many] [--batch 512]
    python benchmarks/otlp.py --grow [--batch 512]

Each exporter is a process that posts gzipped requests of `batch` spans of 1.5 KB, one after the other, as the SDK's
batch processor does; no two spans say the same. A span counts once it is answered with 200; at the end the database is
asked whether it has them all. With `--grow` one session grows to 50,000 spans, and what a span costs is said at 1,000,
10,000 and 50,000. Processor time is the server's, user and system (Linux).
"""

from __future__ import annotations

import argparse
import gzip
import http.client
import json
import logging
import multiprocessing
import os
import random
import secrets
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any, NamedTuple

from waitress import create_server

from webapp.dumps import otlp_protobuf
from webapp.dumps.budget import Allowance

ROOT = Path(__file__).resolve().parents[1]
PROSE = " ".join("\n".join(topics.values()).encode("ascii", "replace").decode().split())
STAGES = (1_000, 10_000, 50_000)
MEASURED = 2_048
"""spans that are timed at each stage"""
VALUES = 400_000
"""that a body may hold, as for Fencepost itself"""
BARE = "import sys; from benchmarks.otlp import bare_server; bare_server(sys.argv[1])"


class Measured(NamedTuple):
    """Spans a second, and milliseconds of the server's processor a span."""

    rate: float
    cost: float


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


def prose(length: int) -> str:
    start = random.randrange(len(PROSE) - length)
    return PROSE[start : start + length]


def answer() -> str:
    """Half are fenced JSON; of those every tenth has a brace too many."""
    if random.random() < 0.5:
        return prose(680)
    call = json.dumps({"tool": "run_code", "arguments": {"code": prose(350)}})
    return f"{prose(250)}\n```json\n{call}{'}' if random.random() < 0.1 else ''}\n```"


def span(started: int, talk: str) -> bytes:
    asked = json.dumps([{"role": "user", "parts": [{"type": "text", "content": prose(300)}]}])
    said = [{"role": "assistant", "parts": [{"type": "text", "content": answer()}], "finish_reason": "stop"}]
    attributes: dict[str, str | int] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m1",
        "gen_ai.response.model": "m1-2026",
        "gen_ai.conversation.id": talk,
        "gen_ai.usage.input_tokens": 120,
        "gen_ai.usage.output_tokens": 60,
        "gen_ai.input.messages": asked,
        "gen_ai.output.messages": json.dumps(said),
    }
    times = struct.pack("<BQBQ", 7 << 3 | 1, started, 8 << 3 | 1, started + 1000)
    own = part(1, secrets.token_bytes(16)) + part(2, secrets.token_bytes(8)) + part(5, "chat m1") + times
    return part(2, own + b"".join(attribute(*pair) for pair in attributes.items()))


def request(talk: str, batch: int) -> bytes:
    scope = part(1, part(1, "bench"))
    started = time.time_ns()
    spans = b"".join(span(started + number, talk) for number in range(batch))
    return gzip.compress(part(1, part(1, b"") + part(2, scope + spans)), 1)


def post(connection: http.client.HTTPConnection, talk: str, batch: int) -> int:
    """How many spans were taken: all of them, or none where the server is busy."""
    head = {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"}
    connection.request("POST", "/v1/traces", request(talk, batch), head)
    answer = connection.getresponse()
    body = answer.read()
    if answer.status == 200 and not body:
        return batch
    if answer.status != 503:
        raise SystemExit(f"answered {answer.status}: {body!r}")
    time.sleep(1)
    return 0


def export(port: int, until: float, talk: str, many: bool, batch: int, result: Any) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    taken = number = 0
    while time.monotonic() < until:
        number += 1
        taken += post(connection, f"{talk}-{number}" if many else talk, batch)
    result.put(taken)


def bare_server(database: str) -> None:
    """Decodes and inserts, and nothing else, until it is ended; says where first."""
    logging.disable()
    base = sqlite3.connect(database, check_same_thread=False)
    base.execute("PRAGMA journal_mode=WAL")
    base.execute("PRAGMA synchronous=NORMAL")
    base.execute("CREATE TABLE span (trace TEXT, span TEXT, body TEXT, PRIMARY KEY (trace, span))")

    def app(environ: dict[str, Any], start: Callable[[str, list[tuple[str, str]]], object]) -> list[bytes]:
        body = gzip.decompress(environ["wsgi.input"].read())
        groups = [group for _, group in otlp_protobuf.request_of(body, Allowance(VALUES))]
        spans = [span for group in groups for scope in group["scopeSpans"] for span in scope["spans"]]
        rows = [(span["traceId"], span["spanId"], json.dumps(span)) for span in spans]
        base.executemany("INSERT OR IGNORE INTO span VALUES (?, ?, ?)", rows)
        base.commit()
        start("200 OK", [("Content-Type", "application/x-protobuf"), ("Content-Length", "0")])
        return [b""]

    server = create_server(app, host="127.0.0.1", port=0, threads=1)
    print(f"http://127.0.0.1:{server.effective_port}", flush=True)
    server.run()


@contextmanager
def served(folder: Path, bare: bool) -> Iterator[tuple[int, int]]:
    """A server's process id and port."""
    environ = {**os.environ, "FENCEPOST_DATA": str(folder), "PYTHONPATH": str(ROOT)}
    environ.pop("FENCEPOST_DATABASE", None)
    command = ["-m", "webapp", "serve", "--port", "0", "--no-examples"]
    if bare:
        command = ["-c", BARE, str(folder / "bare.sqlite3")]
    server = subprocess.Popen([sys.executable, *command], env=environ, stdout=subprocess.PIPE, text=True)
    try:
        line = server.stdout.readline() if server.stdout else ""
        yield server.pid, int(line.partition("127.0.0.1:")[2].split()[0])
    finally:
        server.terminate()
        server.wait(30)


def processor_time(pid: int) -> float:
    """Seconds that a process has used, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def check(folder: Path, bare: bool, taken: int) -> None:
    """Raises SystemExit where a span that was answered is missing."""
    base, table = ("bare.sqlite3", "span") if bare else ("fencepost.sqlite3", "live_span")
    with closing(sqlite3.connect(folder / base)) as connection:
        stored = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    if stored != taken:
        raise SystemExit(f"{taken} spans were answered, {stored} are stored")


def measure(bare: bool, seconds: float, exporters: int, many: bool, batch: int) -> Measured:
    with tempfile.TemporaryDirectory() as name:
        with served(Path(name), bare) as (pid, port):
            queue: Any = multiprocessing.Queue()
            begin, used = time.monotonic(), processor_time(pid)
            jobs = [
                multiprocessing.Process(target=export, args=(port, begin + seconds, f"talk{at}", many, batch, queue))
                for at in range(exporters)
            ]
            for job in jobs:
                job.start()
            taken = sum(queue.get(timeout=seconds + 180) for _ in jobs)
            found = Measured(taken / (time.monotonic() - begin), (processor_time(pid) - used) / taken * 1000)
        check(Path(name), bare, taken)
        return found


def grow(batch: int) -> None:
    """One session from one exporter; what a span costs when it is this long."""
    with tempfile.TemporaryDirectory() as name:
        with served(Path(name), bare=False) as (pid, port):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
            taken = 0
            for stage in STAGES:
                while taken < stage - MEASURED // 2:
                    taken += post(connection, "talk", 512)
                begin, used, end = taken, processor_time(pid), taken + MEASURED
                while taken < end:
                    taken += post(connection, "talk", batch)
                cost = (processor_time(pid) - used) / (taken - begin) * 1000
                print(f"at {stage:,} spans, {batch} a request: {cost:.2f} ms of the server's processor a span")
        check(Path(name), False, taken)


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reader.add_argument("--seconds", type=float, default=20)
    reader.add_argument("--exporters", type=int, default=2)
    reader.add_argument("--session", choices=["one", "many"], default="many")
    reader.add_argument("--batch", type=int, default=512)
    reader.add_argument("--grow", action="store_true")
    given = reader.parse_args()
    if given.grow:
        grow(given.batch)
        return
    many = given.session == "many"
    bare = measure(True, given.seconds / 2, given.exporters, many, given.batch)
    found = measure(False, given.seconds, given.exporters, many, given.batch)
    kind = "a session a request" if many else "one growing session an exporter"
    print(f"Fencepost {found.rate:,.0f} spans/s, bare {bare.rate:,.0f} spans/s, {kind}, none lost;")
    print(f"processor of the server {found.cost:.2f} ms a span, bare {bare.cost:.2f} ms; load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
