"""Readers and ingesters against a real server for minutes: errors, the 95th percentile beside its idle value, memory.

    python -m benchmarks.soak [--minutes 10] [--readers 50] [--ingesters 5] [--on sqlite|postgresql] [--gunicorn]

Fills a database with made sessions, starts `fencepost serve` (or gunicorn with two processes) on a free port of
127.0.0.1, and on PostgreSQL a cluster of its own and a worker. One reader alone gives the idle value; then each reader
asks for a page, thinks for `--think` seconds in the mean, and asks for the next; each ingester sends a dump of one
to five sessions, new or grown, every `--pause` seconds. Ends by itself, and prints one JSON document: `p95` in
milliseconds of all pages and of each, `memory` in megabytes of the server and all under it, a mean of each minute,
`stale`: how many lists, asked for after each dump, counted fewer sessions than were acknowledged.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import statistics
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from benchmarks import generated
from benchmarks.reliability.ledger import Ledger, Maker
from benchmarks.reliability.processes import ROOT, Postgres, Process, Web, Worker, children
from webapp.config import Settings
from webapp.store.db import database
from webapp.store.jobs import database_copy
from webapp.store.models import Session, Turn

PAGES = {
    "list": "/",
    "failed": "/?failed=1",
    "search": "/?q=run_code",
    "session": "/sessions/{session}",
    "turn": "/sessions/{session}/turns/1",
    "statistics": "/statistics",
    "failures": "/failures",
    "dumps": "/dumps",
    "api": "/api/sessions?limit=50",
}
SAMPLE = 5.0
"""seconds between two looks at the memory"""


class Traffic:
    """What readers and ingesters did so far."""

    def __init__(self, port: int, sessions: list[str], seed: str, total: int = 0) -> None:
        self.port, self._sessions, self._seed, self._total = port, sessions, seed, total
        self.stale = 0
        """lists that counted fewer sessions than had been acknowledged before they were asked for"""
        self.took: dict[str, list[float]] = defaultdict(list)
        self.errors: list[str] = []
        self.ledger = Ledger()
        self._ends = threading.Event()
        self._lock = threading.Lock()

    def go(self, readers: int, ingesters: int, seconds: float, think: float, pause: float) -> None:
        """All of them at once, for so long."""
        tasks: list[tuple[Callable[[int, float], None], int, float]]
        tasks = [(self._read, number, think) for number in range(readers)]
        tasks += [(self._ingest, number, pause) for number in range(ingesters)]
        threads = [threading.Thread(target=task, args=about, daemon=True) for task, *about in tasks]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        self._ends.set()
        for thread in threads:
            thread.join(60)
        self.errors += [f"{thread.name} does not end" for thread in threads if thread.is_alive()]

    def _read(self, number: int, think: float) -> None:
        chance = random.Random(f"{self._seed} reader {number}")
        self._ends.wait(chance.uniform(0, 2 * think))
        while not self._ends.is_set():
            name = chance.choice(list(PAGES))
            self._ask(name, "GET", PAGES[name].format(session=chance.choice(self._sessions)))
            self._ends.wait(chance.uniform(0, 2 * think))

    def _ingest(self, number: int, pause: float) -> None:
        maker = Maker(self.ledger, f"{self._seed} ingester {number}", f"i{number}", ("sync",))
        while not self._ends.is_set():
            upload = maker.upload()
            if self._ask("ingest", "POST", f"/api/dumps?filename={upload.name}", upload.body()):
                self.ledger.upload_acknowledged(upload)
                self._look(self._total + len(self.ledger.sessions))
            self._ends.wait(pause)

    def _look(self, acknowledged: int) -> None:
        """Whether the list, by whichever process, counts all that any process has acknowledged."""
        answer = self._ask("count", "GET", "/api/sessions?limit=1")
        if answer and json.loads(answer)["total"] < acknowledged:
            with self._lock:
                self.stale += 1

    def _ask(self, name: str, method: str, path: str, body: bytes | None = None) -> bytes:
        """The body of the answer; empty after an error, which is noted."""
        began, error, content = time.perf_counter(), "", b""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body)
            answer = connection.getresponse()
            content = answer.read()
            if answer.status >= 300:
                error = f"{answer.status}"
        except (OSError, http.client.HTTPException) as gone:
            error = f"{type(gone).__name__}: {gone}"
        finally:
            connection.close()
        took = 1000 * (time.perf_counter() - began)
        with self._lock:
            self.took[name].append(took)
            if error:
                self.errors.append(f"{method} {path}: {error}")
        return b"" if error else content

    def p95(self) -> dict[str, float]:
        pages = [took for name, all_took in self.took.items() if name not in ("ingest", "count") for took in all_took]
        each = {name: _p95(took) for name, took in sorted(self.took.items())}
        return {"all pages": _p95(pages), **each}


class Memory(threading.Thread):
    """Looks every few seconds at the memory of a process and all under it: shared pages count once a process."""

    def __init__(self, process: Process) -> None:
        super().__init__(daemon=True)
        self._process, self.ends = process, threading.Event()
        self.megabytes: list[float] = []

    def run(self) -> None:
        while not self.ends.wait(SAMPLE):
            self.megabytes.append(sum(map(_resident, [self._process.pid, *children(self._process.pid)])))

    def by_minute(self) -> list[float]:
        a_minute = round(60 / SAMPLE)
        parts = [self.megabytes[at : at + a_minute] for at in range(0, len(self.megabytes), a_minute)]
        return [round(statistics.mean(part), 1) for part in parts if part]


class Gunicorn(Web):
    """Two processes of four threads, as docs/ingest.md says."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        super().__init__(folder, environ)
        bind = f"127.0.0.1:{self.port}"
        self._command = ["python", "-m", "gunicorn", "--workers", "2", "--threads", "4", "--bind", bind]
        self._command[0] = sys.executable
        self._command.append("webapp.wsgi:app")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--idle", type=float, default=1, help="minutes of one reader alone before")
    parser.add_argument("--readers", type=int, default=50)
    parser.add_argument("--ingesters", type=int, default=5)
    parser.add_argument("--think", type=float, default=5, help="seconds between a reader's pages, in the mean")
    parser.add_argument("--pause", type=float, default=5, help="seconds between an ingester's dumps")
    parser.add_argument("--turns", type=int, default=20_000, help="that are there before")
    parser.add_argument("--on", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--gunicorn", action="store_true", help="instead of fencepost serve; extra hosted")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fencepost-soak-") as folder:
        print(json.dumps(measured(Path(folder), options), indent=2))


def measured(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    settings = Settings(folder / "data", f"sqlite:///{folder / 'data' / 'fencepost.sqlite3'}")
    before: list[Process] = []
    if options.on == "postgresql":
        postgres = Postgres(folder)
        before.append(postgres)
        postgres.start()
        settings = replace(settings, database=postgres.url)
    try:
        settings.data.mkdir()
        _fill(settings, options.turns, folder / "made.sqlite3")
        environ = {**os.environ, **settings.environment(), "PYTHONPATH": _path()}
        if options.on == "postgresql":
            environ["FENCEPOST_ROLE"] = "web"
            before.append(Worker(folder, environ))
            before[1].start()
        module = [sys.executable, "-m", "webapp"]
        web = Gunicorn(folder, environ) if options.gunicorn else Web(folder, environ, module=module)
        before.append(web)
        web.start()
        return figures(web, settings, options)
    finally:
        for process in reversed(before):
            process.kill()


def _fill(settings: Settings, turns: int, made: Path) -> None:
    """Made sessions, which are made in SQLite and copied if they belong into PostgreSQL."""
    on_postgresql = settings.database.startswith("postgresql")
    generated.fill(replace(settings, database=f"sqlite:///{made}") if on_postgresql else settings, turns)
    if on_postgresql:
        source, target = database.connect(f"sqlite:///{made}"), database.connect(settings.database)
        database_copy.copy(source, target)
        source.dispose()
        target.dispose()


def figures(web: Web, settings: Settings, options: argparse.Namespace) -> dict[str, Any]:
    engine = database.connect(settings.database)
    with engine.connect() as connection:
        names = list(connection.scalars(sa.select(Session.external_id).limit(500)))
        total = connection.scalars(sa.select(sa.func.count()).select_from(Session)).one()
    warm = Traffic(web.port, names, "warm")
    warm.go(4, 0, 10, 0.1, 1)
    load_before = os.getloadavg()[0]
    idle = Traffic(web.port, names, "idle")
    idle.go(1, 0, 60 * options.idle, 0.2, 1)
    memory = Memory(web)
    memory.start()
    busy = Traffic(web.port, names, "busy", total)
    busy.go(options.readers, options.ingesters, 60 * options.minutes, options.think, options.pause)
    memory.ends.set()
    alone, beside = idle.p95(), busy.p95()
    ratio = round(beside["all pages"] / alone["all pages"], 2)
    errors = [*warm.errors, *idle.errors, *busy.errors]
    return {
        **{
            name: getattr(options, name)
            for name in ("on", "gunicorn", "readers", "ingesters", "minutes", "think", "pause")
        },
        "requests": sum(map(len, busy.took.values())),
        "errors": len(errors),
        "first_errors": errors[:10],
        "stale": busy.stale,
        "p95_idle": alone,
        "p95": beside,
        "p95_over_idle": ratio,
        "memory": memory.by_minute(),
        "lacking": lacking(engine, busy.ledger),
        "load": [round(load_before, 1), round(os.getloadavg()[0], 1)],
        "processors": os.cpu_count(),
    }


def lacking(engine: sa.Engine, ledger: Ledger) -> int:
    """Sessions that were acknowledged and are not there, once, with all their texts."""
    query = sa.select(Session.external_id, sa.func.count()).join(Turn, Turn.session_id == Session.id)
    with engine.connect() as connection:
        stored = connection.execute(query.group_by(Session.external_id, Session.id)).all()
    wanted = {(name, len(texts)) for name, texts in ledger.sessions.items()}
    found = [tuple(row) for row in stored if row[0] in ledger.sessions]
    return len(wanted ^ set(found)) + len(found) - len(set(found))


def _p95(took: list[float]) -> float:
    return round(statistics.quantiles(took, n=20)[-1], 1) if len(took) > 1 else 0.0


def _resident(pid: int) -> float:
    try:
        text = Path(f"/proc/{pid}/statm").read_text()
    except OSError:
        return 0.0
    return int(text.split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def _path() -> str:
    return os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))


if __name__ == "__main__":
    main()
