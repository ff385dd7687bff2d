"""Server time of the pages over made sessions, with disk and memory: median and 95th percentile of many requests.

    python -m benchmarks.pages [--turns 10000 1000000] [--folder DIR] [--rounds 20]

Prints one JSON document. The databases are made where `--folder` does not have them from before (see `generated`).
A server of its own is started for each, and asked over one connection, other pages in between; `start` is the time
until its first answer, `growth` how many times as long the largest database's median takes as the smallest's.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import sqlalchemy as sa

from benchmarks.generated import COMMON, RARE, database_of, size_of
from webapp.config import Settings
from webapp.store.db import database
from webapp.store.models import Session

ROOT = Path(__file__).resolve().parents[1]
ABSENT = ('"hu va"', '"ba go mo"', '"ba ba ju fa"')
"""phrases of words that stand in a quarter of the turns or more, and hardly ever or nowhere follow each other"""
LIST = {
    "incidents": "/",
    "list": "/sessions",
    "failed": "/sessions?failed=1",
    "rescued": "/sessions?rescued=1",
    "verdict": "/sessions?verdict=repaired&under=fencepost",
    "strategy": "/sessions?strategy=balanced&under=fencepost",
    "repair": "/sessions?repair=extra_closer&under=fencepost",
    "error": f"/sessions?error={quote('timed out')}",
    "model": "/sessions?model=vendor-a/model-small",
    "agent": "/sessions?agent=agent-7",
    "phase": "/sessions?phase=plan",
    "tool": "/sessions?tool=browse",
    "home": "/sessions?home=direct",
    "finding": "/sessions?finding=validation_storm",
    "label": "/sessions?label=unlabelled",
    "format": "/sessions?format=otlp",
    "dump": "/sessions?dump=3",
    "range": "/sessions?since=2025-10-01&until=2025-10-31",
    "failures": "/sessions?failures=2",
    "several filters": "/sessions?failed=1&model=vendor-b/model-large&phase=act&since=2025-09-01",
    "by time": "/sessions?sort=time",
    "by failures": "/sessions?sort=failures",
    "by length": "/sessions?sort=length",
    "search, rare": f"/sessions?q={RARE}",
    "search, common": f"/sessions?q={COMMON}",
    "search, phrase": "/sessions?q=run_code+-zanzibarite",
    **{f"search, {phrase}": f"/sessions?q={quote(phrase)}" for phrase in ABSENT},
    "statistics": "/responses?by=model",
    "statistics, filtered": "/responses?by=model&failed=1&model=vendor-b/model-large",
    "statistics, one month": "/responses?by=model&since=2025-10-01&until=2025-10-31",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, nargs="+", default=[10_000, 1_000_000])
    parser.add_argument("--folder", type=Path, help="where databases are kept for the next time")
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the server is stopped too
    with tempfile.TemporaryDirectory(prefix="fencepost-pages-") as folder:
        report = {
            str(turns): _measured(options.folder or Path(folder), turns, options.rounds) for turns in options.turns
        }
    least, most = (report[str(turns)]["milliseconds"] for turns in (min(options.turns), max(options.turns)))
    growth = {name: round(most[name]["p50"] / least[name]["p50"], 2) for name in least}
    print(json.dumps({**report, "growth": growth}, indent=2))


def _measured(folder: Path, turns: int, rounds: int) -> dict[str, Any]:
    settings = database_of(folder, turns)
    pages = LIST | _inner(settings)
    began = time.perf_counter()
    process, url = _served(settings)
    try:
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=120)
        _asked(connection, "/")
        start = time.perf_counter() - began
        _, size = _asked(connection, "/")
        times: dict[str, list[float]] = {name: [] for name in pages}
        for number in range(rounds + 1):
            for name, path in pages.items():
                took, _ = _asked(connection, _varied(path, number))
                if number:
                    times[name].append(took)
        memory = _resident(process.pid)
    finally:
        process.terminate()
        process.wait(20)
    return {
        "start_seconds": round(start, 2),
        "bytes_a_turn": round(size_of(settings) / turns),
        "resident_megabytes": round(memory),
        "list_html_kilobytes": round(size / 1000, 1),
        "milliseconds": {name: _summary(some) for name, some in times.items()},
    }


def _varied(path: str, number: int) -> str:
    """A filter's address with another last day each round, so that counts kept from before are not what is measured."""
    if "?" not in path or "until" in path:
        return path
    return f"{path}&until=2026-06-{number % 28 + 1:02d}"


def _inner(settings: Settings) -> dict[str, str]:
    """A session in the middle and a turn of it, whose response failed."""
    engine = database.connect(settings.database)
    with engine.connect() as connection:
        query = sa.select(Session.key, Session.strip).where(Session.failed_count > 0)
        key, strip = connection.execute(query.order_by(Session.id.desc()).limit(1)).one()
    engine.dispose()
    position = 2 * min(strip.find(letter) for letter in "fs" if letter in strip) + 1
    return {"session": f"/sessions/{key}", "turn": f"/sessions/{key}/turns/{position}"}


def _served(settings: Settings) -> tuple[subprocess.Popen[str], str]:
    environ = {**os.environ, "FENCEPOST_DATA": str(settings.data), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "webapp", "serve", "--port", "0"]
    process = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout
    for line in process.stdout:
        if match := re.search(r"http://\S+?:\d+", line):
            return process, match.group()
    raise SystemExit("the server did not start")


def _asked(connection: http.client.HTTPConnection, path: str) -> tuple[float, int]:
    """Milliseconds until the whole answer is there, and its size."""
    began = time.perf_counter()
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    took = (time.perf_counter() - began) * 1000
    if answer.status != 200:
        raise SystemExit(f"{path} answered {answer.status}: {body[:300]!r}")
    return took, len(body)


def _summary(times: list[float]) -> dict[str, float]:
    ordered = sorted(times)
    return {"p50": round(statistics.median(ordered), 1), "p95": round(ordered[-1 - len(ordered) // 20], 1)}


def _resident(pid: int) -> float:
    """Megabytes, from /proc."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found.group(1)) / 1000


if __name__ == "__main__":
    main()
