"""How long the session list takes while a large dump is taken in, beside how long it takes at rest.

    python -m benchmarks.reading [--sessions 2000] [--large 60]

A real server in a process of its own holds `--sessions` sessions of 20 turns; then another one, `fencepost ingest`,
takes in `--large` MB into the same database. Prints one JSON document: milliseconds of `GET /` at rest before, during
and after, one request after the other, and how many times as long the p95 became. The machine's load stands beside it.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks import ingest
from benchmarks.serving import ROOT, start, stop

REQUESTS = 150
PAUSE = 0.02
"""seconds between two requests: a person does not ask without a break"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=2000, help="sessions that are there before")
    parser.add_argument("--large", type=int, default=60, help="megabytes that come in meanwhile")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fencepost-benchmark-") as folder:
        print(json.dumps(_measured(Path(folder), options.sessions, options.large), indent=2))


def _measured(folder: Path, sessions: int, large: int) -> dict[str, Any]:
    data = folder / "data"
    there = ingest.write_prose(folder / "there.jsonl", sessions=sessions)
    coming = ingest.write_dump(folder, "lines", large)
    _ingesting(there, data).wait()
    server, url, _ = start([sys.executable, "-m", "webapp", "serve", "--port", "0"], data)
    try:
        _asked(url, lambda: False, 20)
        before = _asked(url, lambda: False, REQUESTS)
        process = _ingesting(coming, data)
        during = _asked(url, lambda: process.poll() is not None, 100 * REQUESTS)
        process.wait()
        after = _asked(url, lambda: False, REQUESTS)
    finally:
        stop(server)
    rest = _figures(before + after)
    return {
        "sessions": sessions,
        "megabytes": large,
        "load_beside": [round(one, 1) for one in os.getloadavg()],
        "at_rest_ms": rest,
        "during_ms": _figures(during),
        "p95_times": round(_figures(during)["p95"] / rest["p95"], 2),
    }


def _ingesting(dump: Path, data: Path) -> subprocess.Popen[bytes]:
    environ = {**os.environ, "FENCEPOST_DATA": str(data), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "webapp", "ingest", str(dump)]
    return subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _asked(url: str, done: Callable[[], bool], most: int) -> list[float]:
    """Milliseconds of each request for the list until `done`, at most `most`."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    took: list[float] = []
    while len(took) < most and not done():
        started = time.perf_counter()
        connection.request("GET", "/")
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise SystemExit(f"the list answered {answer.status}")
        took.append(1000 * (time.perf_counter() - started))
        time.sleep(PAUSE)
    connection.close()
    return took


def _figures(took: list[float]) -> dict[str, float]:
    ordered = sorted(took)
    p95 = ordered[-1 - len(ordered) // 20]
    return {"requests": len(took), "p50": round(statistics.median(ordered), 1), "p95": round(p95, 1)}


if __name__ == "__main__":
    main()
