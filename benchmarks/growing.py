"""What a session costs that grows by one line of its log: the first time, and each time after that.

    python -m benchmarks.growing [--lines 5000] [--times 5]

A log of one session, one request with its response a line, comes in, and comes again and again with one line more.
Prints one JSON document: seconds of processor time of this process for the whole log, for its first growth, for the
median of those that follow, of which as much as `reading_again` is reading a file all of whose turns are there already.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import sqlalchemy as sa

from webapp.config import Settings
from webapp.store.db import database
from webapp.store.ingest.start import ingest
from webapp.store.models import Session


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=5000, help="requests in the log; each makes two turns")
    parser.add_argument("--times", type=int, default=5, help="how often it grows after the first time")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fencepost-benchmark-") as folder:
        print(json.dumps(measured(Path(folder), options.lines, options.times), indent=2))


def measured(folder: Path, lines: int, times: int) -> dict[str, float]:
    """Seconds of processor time, and how many turns the session has in the end."""
    settings = Settings(data=folder / "data", database=f"sqlite:///{folder / 'fencepost.sqlite3'}")
    engine = database.connect(settings.database)
    database.migrate(engine)
    whole = _seconds(engine, settings, log(lines))
    first, *further = (_seconds(engine, settings, log(lines + more)) for more in range(1, times + 2))
    again = _seconds(engine, settings, b"\n" + log(lines + times + 1))
    with engine.connect() as connection:
        turns = connection.execute(sa.select(Session.turn_count)).scalar_one()
    engine.dispose()
    figures = {"whole": whole, "first_growth": first, "later_growth": statistics.median(further)}
    return {
        "turns": turns,
        **{name: round(value, 2) for name, value in figures.items()},
        "reading_again": round(again, 2),
    }


def log(lines: int) -> bytes:
    """Requests with their responses, each with a call whose JSON is sound, or broken in one of ten."""
    return b"".join(_lines(lines))


def _lines(lines: int) -> Iterator[bytes]:
    for number in range(lines):
        call = json.dumps({"tool": "read_file", "arguments": {"path": f"src/part_{number}.py", "lines": [1, 400]}})
        answer = f"I read part {number} next.\n```json\n{call}{'' if number % 10 else '}'}\n```"
        request = {"model": "m", "messages": [{"role": "user", "content": f"What does part {number} say? " * 8}]}
        response = {"choices": [{"message": {"role": "assistant", "content": answer}, "finish_reason": "stop"}]}
        yield json.dumps({"session_id": "one", "request": request, "response": response}).encode() + b"\n"


def _seconds(engine: sa.Engine, settings: Settings, dump: bytes) -> float:
    started = time.process_time()
    ingest(engine, settings, BytesIO(dump), filename="log.jsonl", home="direct")
    return time.process_time() - started


if __name__ == "__main__":
    main()
