"""A real server over very many sessions: its start, its memory, and its list after other processes wrote.

    python -m benchmarks.session_start [--sessions 50000 1000000] [--writes 1000] [--folder DIR]

Prints one JSON document for each number of sessions: seconds until the first answer without the index's file and with
it, megabytes resident then and after the writes, and milliseconds of the list's first page, once more and after each
write. The sessions have rows and what the index reads of them, and no turns. Stops its servers itself.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import sqlalchemy as sa

from benchmarks.session_index import made_facets
from webapp.store.db import database
from webapp.store.db.dialect import change
from webapp.store.index import FILE
from webapp.store.models import Dump, Session

ROOT = Path(__file__).resolve().parents[1]
_AT_ONCE = 5000
_BEGAN = datetime(2025, 7, 1, tzinfo=UTC)
_WAITS = 120.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, nargs="+", default=[50_000, 1_000_000])
    parser.add_argument("--writes", type=int, default=1000)
    parser.add_argument("--folder", type=Path, help="where databases are kept for the next time")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fencepost-start-") as folder:
        for sessions in options.sessions:
            data = (options.folder or Path(folder)) / f"sessions-{sessions}"
            print(json.dumps({"sessions": sessions} | measured(data, sessions, options.writes), indent=1), flush=True)


def measured(data: Path, sessions: int, writes: int) -> dict[str, Any]:
    url = f"sqlite:///{data / 'fencepost.sqlite3'}"
    if not (data / "finished").exists():
        fill(url, sessions)
        (data / "finished").touch()
    (data / FILE).unlink(missing_ok=True)
    report: dict[str, Any] = {}
    with served(data) as (connection, process, took):
        report["first answer, every session read"] = took
        _wait_for(data / FILE)
        report["MB"] = resident(process)
    report["MB of the file"] = round((data / FILE).stat().st_size / 1e6, 1)
    with served(data) as (connection, process, took):
        report["first answer, from the file"] = took
        report["MB, from the file"] = resident(process)
        report["list"] = summary([_list(connection) for _ in range(20)])
        report["list after a write"] = summary(list(_after_writes(url, connection, sessions, writes)))
        report["MB after the writes"] = resident(process)
    return report


def fill(url: str, sessions: int) -> None:
    choice = random.Random(1)
    facets = [made_facets(choice) for _ in range(5000)]
    engine = database.connect(url)
    database.migrate(engine)
    dump = {"id": 1, "sha256": "0" * 64, "filename": "made.json", "bytes": 1, "state": "done", "problems": []}
    with engine.begin() as connection:
        connection.execute(sa.insert(Dump), dump | {"received_at": _BEGAN, "session_count": sessions})
        for low in range(1, sessions + 1, _AT_ONCE):
            rows = [_row(number, facets) for number in range(low, min(low + _AT_ONCE, sessions + 1))]
            connection.execute(sa.insert(Session), rows)
    engine.dispose()


def _row(number: int, facets: list[dict[str, Any]]) -> dict[str, Any]:
    kind, when = number * 31 % 97, _BEGAN + timedelta(seconds=number * 17)
    failed = kind % 5 if kind < 30 else 0
    counts = {"turn_count": 40, "response_count": 20, "clean_count": 10, "extracted_count": 4, "failed_count": failed}
    about = {"source_format": "otlp", "home_profile": "direct", "home_source": "told", "models": []}
    times = {"started_at": when, "happened_at": when, "ingested_at": when}
    named = {"id": number, "dump_id": 1, "external_id": f"session {number}", "key": f"{number:016x}"}
    extra = {"failed": failed > 0, "strip": "c" * 20, "raw_bytes": 9000 + kind * 100, "changed": number}
    return {**named, **about, **times, **counts, **extra, "facets": facets[number * 7919 % len(facets)]}


@contextmanager
def served(data: Path) -> Iterator[tuple[http.client.HTTPConnection, int, float]]:
    """A server, asked over one connection; its process, and the seconds until its first list."""
    environ = {**os.environ, "FENCEPOST_DATA": str(data), "PYTHONPATH": str(ROOT)}
    began = time.perf_counter()
    command = [sys.executable, "-m", "webapp", "serve", "--port", "0", "--no-examples"]
    process = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout
        url = next(match.group() for line in process.stdout if (match := re.search(r"http://\S+?:\d+", line)))
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=_WAITS)
        _list(connection)
        yield connection, process.pid, round(time.perf_counter() - began, 2)
    finally:
        process.terminate()
        process.wait(20)


def _after_writes(url: str, connection: http.client.HTTPConnection, sessions: int, writes: int) -> Iterator[float]:
    choice, engine = random.Random(2), database.connect(url)
    for _ in range(writes):
        with engine.begin() as other:
            one = sa.update(Session).where(Session.id == choice.randint(1, sessions))
            other.execute(one.values(changed=change(), raw_bytes=Session.raw_bytes + 1))
        yield _list(connection)
    engine.dispose()


def _list(connection: http.client.HTTPConnection) -> float:
    """Milliseconds."""
    began = time.perf_counter()
    connection.request("GET", "/")
    response = connection.getresponse()
    body = response.read()
    if response.status != 200:
        raise SystemExit(f"the list answered {response.status}: {body[:300]!r}")
    return (time.perf_counter() - began) * 1000


def _wait_for(path: Path) -> None:
    until = time.monotonic() + _WAITS
    while not path.exists():
        if time.monotonic() > until:
            raise SystemExit(f"the server did not write {path.name}")
        time.sleep(0.1)


def summary(times: list[float]) -> dict[str, float]:
    ordered = sorted(times)
    return {"p50": round(statistics.median(ordered), 1), "p95": round(ordered[int(len(ordered) * 0.95)], 1)}


def resident(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(round(int(line.split()[1]) / 1024, 1) for line in lines if line.startswith("VmRSS"))


if __name__ == "__main__":
    main()
