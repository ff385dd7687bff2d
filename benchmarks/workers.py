"""A run shared by workers of their own processes on PostgreSQL, one beside two, and workers killed at random moments.

    python -m benchmarks.workers postgresql+psycopg://root@127.0.0.1/postgres [--responses 20000] [--kills 0]

Makes a database of its own on that server and drops it. Prints one JSON document: clock seconds of one worker and of
two, twice each, processor seconds of each worker without its start, and the machine's load before. `speedup_processor`
is the one worker's seconds over those of the busier of two, which is what the clock says where each has a core.
With `--kills` one of two workers is killed with SIGKILL at random moments so many times, and `exact` says whether
counts and facets equal a recount.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import uuid
from io import BytesIO
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from benchmarks.replay import dump, forget
from webapp.config import Settings
from webapp.store import derive
from webapp.store.db import clock, database
from webapp.store.ingest.start import ingest
from webapp.store.jobs import claims, run_queue
from webapp.store.models import Parse, Run, RunChunk, Session

WORKER = """
import sys
from pathlib import Path
from webapp.config import Settings
from webapp.store.db import database
from webapp.store.jobs import worker

worker.processors = lambda: 1
sys.stdin.readline()
engine = database.connect(sys.argv[2])
worker.work_on(engine, Settings(data=Path(sys.argv[1]), database=sys.argv[2]), lambda: False)
"""
LONGEST_WAIT = 8.0
"""seconds before a kill, at most"""
_facets = sa.select(Session.id, Session.facets, Session.strip).order_by(Session.id)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server")
    parser.add_argument("--responses", type=int, default=20_000)
    parser.add_argument("--profile", default="windlass-balanced")
    parser.add_argument("--kills", type=int, default=0)
    options = parser.parse_args()
    admin = sa.create_engine(options.server, isolation_level="AUTOCOMMIT")
    name = f"fencepost_bench_{uuid.uuid4().hex[:8]}"
    with admin.connect() as connection, tempfile.TemporaryDirectory() as folder:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
        url = admin.url.set(database=name).render_as_string(hide_password=False)
        try:
            settings = Settings(data=Path(folder), database=url)
            engine = database.connect(url)
            database.migrate(engine)
            ingest(engine, settings, BytesIO(dump(options.responses)), filename="responses.jsonl")
            measure = killed if options.kills else measured
            print(json.dumps(measure(engine, settings, options), indent=2))
            engine.dispose()
        finally:
            connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")


def measured(engine: sa.Engine, settings: Settings, options: argparse.Namespace) -> dict[str, Any]:
    """One worker, two, two and one again, so that neither has only the first reading of the rows."""
    clocks: dict[int, list[float]] = {1: [], 2: []}
    processors: dict[int, list[list[float]]] = {1: [], 2: []}
    load = os.getloadavg()[0]
    for count in (1, 2, 2, 1):
        clock_seconds, each = timed(engine, settings, options, count)
        clocks[count].append(clock_seconds)
        processors[count].append(each)
    busiest = sum(max(each) for each in processors[2])
    return {
        "responses": options.responses,
        "load_before": load,
        **{f"{count}_clock": clocks[count] for count in clocks},
        **{f"{count}_processor": processors[count] for count in processors},
        "speedup_clock": round(sum(clocks[1]) / sum(clocks[2]), 2),
        "speedup_processor": round(sum(each[0] for each in processors[1]) / busiest, 2),
    }


def timed(engine: sa.Engine, settings: Settings, options: argparse.Namespace, count: int) -> tuple[float, list[float]]:
    """Clock seconds of a run by `count` workers, and the processor seconds of each without its start."""
    forget(engine, options.profile)
    workers = [start(settings) for _ in range(count)]
    time.sleep(5)  # they have imported all by then, and wait for a line
    run_queue.queue(engine, options.profile)
    before, begun = [processor(worker) for worker in workers], time.perf_counter()
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write(b"\n")
        worker.stdin.flush()
    wait_for_end(engine)
    seconds = round(time.perf_counter() - begun, 2)
    each = [round(processor(worker) - first, 2) for worker, first in zip(workers, before, strict=True)]
    for worker in workers:
        worker.kill()
        worker.wait()
    return seconds, each


def killed(engine: sa.Engine, settings: Settings, options: argparse.Namespace) -> dict[str, Any]:
    """Kills one of two workers again and again, and starts another for it."""
    workers, rounds, kills = [start(settings, b"\n") for _ in range(2)], 0, 0
    exact = True
    while kills < options.kills:
        forget(engine, options.profile)
        refold_all(engine)
        run_queue.queue(engine, options.profile)
        rounds += 1
        while not has_ended(engine) and kills < options.kills:
            time.sleep(random.uniform(0, LONGEST_WAIT))
            victim = workers.pop(0)
            victim.kill()
            victim.wait()
            kills += 1
            let_go(engine, victim.pid)
            workers.append(start(settings, b"\n"))
        wait_for_end(engine)
        exact = exact and is_exact(engine, options)
    for worker in workers:
        worker.kill()
        worker.wait()
    return {"responses": options.responses, "kills": kills, "runs": rounds, "exact": exact}


def start(settings: Settings, first: bytes = b"") -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", WORKER, str(settings.data), settings.database]
    worker = subprocess.Popen(command, stdin=subprocess.PIPE)
    assert worker.stdin is not None
    worker.stdin.write(first)
    worker.stdin.flush()
    return worker


def let_go(engine: sa.Engine, pid: int) -> None:
    """As if half a minute had passed since the worker was killed."""
    with engine.begin() as connection:
        mine = sa.update(RunChunk).where(RunChunk.owner.contains(f":{pid}:"))
        connection.execute(mine.values(beat_at=clock.ago(claims.STALE + 1)))


def has_ended(engine: sa.Engine) -> bool:
    with engine.connect() as connection:
        return connection.scalar(sa.select(Run.state).order_by(Run.id.desc()).limit(1)) not in run_queue.LIVE


def wait_for_end(engine: sa.Engine) -> None:
    while not has_ended(engine):
        time.sleep(0.05)


def refold_all(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        for number in connection.scalars(sa.select(Session.id)).all():
            derive.derive(connection, [number])


def is_exact(engine: sa.Engine, options: argparse.Namespace) -> bool:
    with engine.connect() as connection:
        run = connection.execute(sa.select(Run.state, Run.counts).order_by(Run.id.desc()).limit(1)).one()
        parses = connection.scalar(sa.select(sa.func.count()).where(Parse.profile == options.profile))
        counted = [tuple(row) for row in connection.execute(_facets)]
    refold_all(engine)
    with engine.connect() as connection:
        recounted = [tuple(row) for row in connection.execute(_facets)]
    is_whole = run.state == "done" and (run.counts or {})["responses"] == parses == options.responses
    return is_whole and counted == recounted


def processor(worker: subprocess.Popen[bytes]) -> float:
    """Processor seconds of a process so far."""
    fields = Path(f"/proc/{worker.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
