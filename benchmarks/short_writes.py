"""How long a short write, such as a label, waits for SQLite's lock at rest and while a large dump is taken in.

    python -m benchmarks.short_writes [--large 60]

`fencepost ingest` takes in `--large` MB in a process of its own; this one writes one row, five times a second. Prints
one JSON document: milliseconds of a transaction at rest and meanwhile, and the seconds that the import took.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from benchmarks import ingest
from benchmarks.serving import ROOT
from webapp.store.db import database

PAUSE = 0.2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", type=int, default=60, help="megabytes that come in meanwhile")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fencepost-benchmark-") as folder:
        print(json.dumps(measured(Path(folder), options.large), indent=2))


def measured(folder: Path, large: int) -> dict[str, Any]:
    dump, data = ingest.write_dump(folder, "lines", large), folder / "data"
    data.mkdir()
    url = f"sqlite:///{data / 'fencepost.sqlite3'}"
    engine = database.connect(url)
    database.migrate(engine)
    rest = _writes(engine, lambda taken: taken >= 20)
    environ = {**os.environ, "FENCEPOST_DATA": str(data), "FENCEPOST_DATABASE": url, "PYTHONPATH": str(ROOT)}
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "webapp", "ingest", str(dump)], env=environ, stdout=subprocess.DEVNULL
    )
    during = _writes(engine, lambda _: process.poll() is not None)
    took = time.perf_counter() - began
    engine.dispose()
    if process.returncode:
        raise SystemExit("the import failed")
    load = [round(one, 1) for one in os.getloadavg()]
    return {
        "load_beside": load,
        "import_s": round(took, 1),
        "at_rest_ms": _figures(rest),
        "during_ms": _figures(during),
    }


def _writes(engine: sa.Engine, done: Callable[[int], bool]) -> list[float]:
    """Milliseconds of each write, until `done` with so many."""
    took: list[float] = []
    while not done(len(took)):
        began = time.perf_counter()
        with database.writing(engine) as connection:
            connection.execute(sa.text("UPDATE database_secret SET value = value"))
        took.append(1000 * (time.perf_counter() - began))
        time.sleep(PAUSE)
    return took


def _figures(took: list[float]) -> dict[str, float]:
    ordered = sorted(took)
    figures = {"p50": ordered[len(ordered) // 2], "p95": ordered[-1 - len(ordered) // 20], "most": ordered[-1]}
    return {"writes": len(took)} | {name: round(value, 1) for name, value in figures.items()}


if __name__ == "__main__":
    main()
