"""Ingest into SQLite and into PostgreSQL, in turn: how many times as long the same dump takes.

    python -m benchmarks.both_databases postgresql+psycopg://root@127.0.0.1:5432 [--sessions 500] [--rounds 3]

Makes a dump of 20 turns a session, 1.5 KB each, and databases of its own on that server, which it drops again. Prints
one JSON document: seconds until every session is listed, parsed and searchable, by round, and the median of the ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from benchmarks.ingest import write_prose
from webapp.config import Settings
from webapp.store.db import database
from webapp.store.ingest.start import ingest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server", help="URL of a PostgreSQL server, without a database")
    parser.add_argument("--sessions", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fencepost-benchmark-") as name:
        folder = Path(name)
        dump = write_prose(folder / "prose.jsonl", sessions=options.sessions)
        rounds = [_round(folder / str(number), dump, options.server) for number in range(options.rounds)]
    ratio = statistics.median(one["postgresql"] / one["sqlite"] for one in rounds)
    print(json.dumps({"load_beside": os.getloadavg()[0], "rounds": rounds, "times": round(ratio, 2)}, indent=1))


def _round(folder: Path, dump: Path, server: str) -> dict[str, float]:
    folder.mkdir()
    sqlite = _seconds(dump, folder / "sqlite", f"sqlite:///{folder / 'store.sqlite3'}")
    with _new_database(server) as url:
        return {"sqlite": sqlite, "postgresql": _seconds(dump, folder / "postgresql", url)}


def _seconds(dump: Path, data: Path, url: str) -> float:
    engine = database.connect(url)
    database.migrate(engine)
    began = time.perf_counter()
    with dump.open("rb") as stream:
        result = ingest(engine, Settings(data=data, database=url), stream, filename=dump.name)
    took = time.perf_counter() - began
    engine.dispose()
    if result.problems:
        raise SystemExit(f"the made dump has problems: {result.problems[0]}")
    return round(took, 2)


@contextmanager
def _new_database(server: str) -> Iterator[str]:
    name = f"fencepost_benchmark_{uuid.uuid4().hex[:8]}"
    admin = sa.create_engine(f"{server}/postgres", isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    try:
        yield f"{server}/{name}"
    finally:
        with admin.connect() as connection:
            connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
        admin.dispose()


if __name__ == "__main__":
    main()
