"""Fencepost as it is killed: one server with its worker, or on PostgreSQL a web server and workers beside it."""

from __future__ import annotations

import http.client
import json
import os
import random
import subprocess
import time
import urllib.parse
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from benchmarks.reliability.processes import LAUNCHER, ROOT, Postgres, Process, Redis, Web, Worker, children, kill_pid
from webapp.config import Settings
from webapp.store.db import database

KINDS = ("sqlite", "postgresql", "postgresql+worker", "postgresql+worker+redis")
LONGEST_AWAY = 10.0
"""seconds for which the database is away, now and then"""
PROFILE = "windlass-balanced"


class World:
    """All processes of one setup, and what the checks read it with."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind, self.folder, data = kind, folder, folder / "data"
        self.database = Postgres(folder) if kind != "sqlite" else None
        self.broker = Redis(folder) if kind.endswith("redis") else None
        url = self.database.url if self.database else f"sqlite:///{data / 'fencepost.sqlite3'}"
        broker = self.broker.url if self.broker else None
        self.settings = Settings(data=data, database=url, home="direct", broker=broker)
        self.environ = {**os.environ, **self.settings.environment(), "PYTHONPATH": str(ROOT)}
        self.environ["FENCEPOST_ROLE"] = "web" if "+worker" in kind else "all-in-one"
        if broker:
            self.environ["FENCEPOST_BROKER"] = broker
        self.web = Web(folder, self.environ)
        self.worker = Worker(folder, self.environ) if "+worker" in kind else None
        self.engine = database.connect(url)

    @property
    def processes(self) -> list[Process]:
        return [one for one in (self.database, self.broker, self.web, self.worker) if one is not None]

    def start(self) -> None:
        for process in self.processes:
            process.start()

    def restart_ended(self) -> int:
        """Start anew what ended by itself, as a service manager does; how many did."""
        ended = [one for one in self.processes if one.process is not None and one.process.poll() is not None]
        for process in ended:
            process.start()
        return len(ended)

    def stop(self) -> None:
        self.engine.dispose()
        for process in reversed(self.processes):
            process.kill()

    def victims(self, work: str) -> tuple[str, ...]:
        """What is killed while this goes on; `command` is the command that does it."""
        by_hand = ("command",) if work in ("ingest", "replay", "prune") else ()
        has_worker = self.worker is not None or work in ("ingest", "replay", "export")
        servers = [one.name for one in self.processes if one is not self.worker]
        return (*servers, *(("worker",) if has_worker else ()), *by_hand)

    def kill(self, victim: str, chance: random.Random) -> bool:
        """Kill it and start it anew; False where there is none now."""
        if victim == "worker" and self.worker is None:
            pid = self.web.worker()
            if pid is not None:
                kill_pid(pid)
            return pid is not None
        process = {one.name: one for one in self.processes}[victim]
        under = children(process.pid) if victim == "worker" else []
        if under and chance.random() < 0.5:
            kill_pid(chance.choice(under))  # a process of Celery's: the worker itself stays
            return True
        process.kill()
        away = (LONGEST_AWAY,) if process is self.database else ()
        time.sleep(chance.choice((0.0, 0.0, chance.uniform(0, 3.0), *away)))
        self.engine.dispose()
        process.start()
        return True

    def command(self, *arguments: str) -> subprocess.Popen[bytes]:
        """`fencepost` with these arguments."""
        log = (self.folder / "commands.log").open("ab")
        environ = {name: value for name, value in self.environ.items() if name != "FENCEPOST_ROLE"}
        return subprocess.Popen([*LAUNCHER, *arguments], env=environ, cwd=ROOT, stdout=subprocess.PIPE, stderr=log)

    def ask(self, method: str, path: str, body: bytes | None = None, **query: str) -> tuple[int, Any]:
        """The status and the document of an answer; raises `OSError` or `HTTPException` where none came."""
        status, kind, content = self.fetch(method, path, body, **query)
        return status, json.loads(content) if "json" in kind else None

    def fetch(self, method: str, path: str, body: bytes | None = None, **query: str) -> tuple[int, str, bytes]:
        """The status, the type and the bytes of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.web.port, timeout=60)
        try:
            url = f"{path}?{urllib.parse.urlencode(query)}" if query else path
            connection.request(method, url, body, {"Content-Type": "application/json"} if method == "PUT" else {})
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        return answer.status, answer.headers.get("Content-Type", ""), content

    def value(self, query: sa.Select[Any]) -> Any:
        with self.engine.connect() as connection:
            return connection.scalar(query)
