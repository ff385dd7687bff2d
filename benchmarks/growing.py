"""What a log costs that grows by one line: in the process that read it, and in others that begin with the file.

    python -m benchmarks.growing [--lines 5000] [--times 5] [--sessions 1] [--packed]

A log, one request with its response a line, comes in, and comes again and again with one line more, each time as to
another process: nothing of it is in memory. Prints one JSON document: seconds of processor time of this process for
the whole log, for its first growth, for the median of those that follow; `reading_again` is reading a file all of
whose turns are there already.
"""

from __future__ import annotations

import argparse
import gzip
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
    parser.add_argument("--sessions", type=int, default=1, help="sessions whose lines are mixed in the log")
    parser.add_argument("--packed", action="store_true", help="the log is compressed with gzip")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fencepost-benchmark-") as folder:
        figures = measured(Path(folder), options.lines, options.times, options.sessions, packed=options.packed)
        print(json.dumps(figures, indent=2))


def measured(folder: Path, lines: int, times: int, sessions: int = 1, *, packed: bool = False) -> dict[str, float]:
    """Seconds of processor time, and how many turns the sessions have in the end."""
    settings = Settings(data=folder / "data", database=f"sqlite:///{folder / 'fencepost.sqlite3'}")
    engine = database.connect(settings.database)
    database.migrate(engine)

    def seconds(more: int, before: bytes = b"") -> float:
        content = before + log(lines + more, sessions)
        return _seconds(settings, gzip.compress(content) if packed else content)

    whole = seconds(0)
    first, *further = (seconds(more) for more in range(1, times + 2))
    again = seconds(times + 1, b"\n")
    with engine.connect() as connection:
        turns = connection.execute(sa.select(sa.func.sum(Session.turn_count))).scalar_one()
    engine.dispose()
    figures = {"whole": whole, "first_growth": first, "later_growth": statistics.median(further)}
    return {
        "turns": turns,
        **{name: round(value, 3) for name, value in figures.items()},
        "reading_again": round(again, 2),
    }


def log(lines: int, sessions: int = 1) -> bytes:
    """Requests with their responses, each with a call whose JSON is sound, or broken in one of ten."""
    return b"".join(_lines(lines, sessions))


def _lines(lines: int, sessions: int) -> Iterator[bytes]:
    for number in range(lines):
        call = json.dumps({"tool": "read_file", "arguments": {"path": f"src/part_{number}.py", "lines": [1, 400]}})
        answer = f"I read part {number} next.\n```json\n{call}{'' if number % 10 else '}'}\n```"
        request = {"model": "m", "messages": [{"role": "user", "content": f"What does part {number} say? " * 8}]}
        response = {"choices": [{"message": {"role": "assistant", "content": answer}, "finish_reason": "stop"}]}
        yield (
            json.dumps({"session_id": f"s{number % sessions}", "request": request, "response": response}).encode()
            + b"\n"
        )


def _seconds(settings: Settings, dump: bytes) -> float:
    engine = database.connect(settings.database)
    started = time.process_time()
    ingest(engine, settings, BytesIO(dump), filename="log.jsonl")
    passed = time.process_time() - started
    engine.dispose()
    return passed


if __name__ == "__main__":
    main()
