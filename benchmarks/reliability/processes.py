"""The processes that are killed: PostgreSQL and Redis of our own, the web server, the worker."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psycopg
import redis

ROOT = Path(__file__).resolve().parents[2]
LAUNCHER = [sys.executable, "-m", "benchmarks.reliability.launcher"]
LONGEST_START = 60.0
"""seconds"""


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def children(pid: int) -> list[int]:
    """The processes under that one, the nearest first."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            parents.setdefault(int(fields[1]), []).append(int(folder.name))
    found = parents.get(pid, [])
    return [*found, *(under for child in found for under in children(child))]


def kill_pid(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def until(is_so: Callable[[], bool], seconds: float = LONGEST_START) -> None:
    """Raises `TimeoutError` where it is not so in time."""
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise TimeoutError(f"it took longer than {seconds:.0f} seconds")
        time.sleep(0.05)


class Process:
    """One that we started: `kill` ends it and all under it with SIGKILL, and `start` begins it anew."""

    name = "process"

    def __init__(self, log: Path) -> None:
        self._log = log.open("ab")
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        raise NotImplementedError

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def kill(self) -> None:
        """All of it, its children last: none is left to write behind a server that starts anew."""
        if self.process is None:
            return
        under = children(self.pid)
        for pid in (self.pid, *under, *children(self.pid)):
            kill_pid(pid)
        self.process.wait()
        self.process = None

    def _run(self, command: list[str], **options: object) -> None:
        defaults = {"cwd": ROOT, "stdout": self._log, "stderr": self._log, "start_new_session": True}
        self.process = subprocess.Popen(command, **{**defaults, **options})  # type: ignore[call-overload]


class Postgres(Process):
    """A cluster of its own, of the installed binaries; as root its processes are the user postgres'."""

    name = "database"

    def __init__(self, folder: Path, listens: Sequence[str] = (), trusts: Sequence[str] = ()) -> None:
        """On 127.0.0.1, and where `listens` says, for the networks in `trusts` without a password."""
        super().__init__(folder / "postgres.log")
        self._listens = ",".join(("127.0.0.1", *listens))
        self.port, self._data = free_port(), folder / "cluster"
        self._who = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}
        self._data.mkdir(mode=0o700)
        if self._who:
            shutil.chown(self._data, "postgres", "postgres")
            folder.chmod(0o755)
        command = [_binary("initdb"), "-D", str(self._data), "-A", "trust", "-U", "fencepost", "-E", "UTF8"]
        subprocess.run(command, check=True, stdout=self._log, stderr=self._log, cwd="/", **self._who)  # type: ignore[call-overload]
        with (self._data / "pg_hba.conf").open("a") as rules:
            rules.writelines(f"host all all {network} trust\n" for network in trusts)

    @property
    def url(self) -> str:
        return f"postgresql+psycopg://fencepost@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        options = ["-p", str(self.port), "-c", f"listen_addresses={self._listens}", "-c", "unix_socket_directories="]
        self._run([_binary("postgres"), "-D", str(self._data), *options], cwd="/", **self._who)
        until(self._answers)

    def _answers(self) -> bool:
        with contextlib.suppress(psycopg.OperationalError):
            psycopg.connect(f"host=127.0.0.1 port={self.port} user=fencepost dbname=postgres").close()
            return True
        return False


def _binary(name: str) -> str:
    """PostgreSQL's, which not every system has on the path."""
    folder = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True, check=True).stdout.strip()
    return str(Path(folder) / name)


class Redis(Process):
    """A broker that keeps nothing: what it was told is lost with it."""

    name = "broker"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "redis.log")
        self.port, self._folder = free_port(), folder

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        keeps_nothing = ["--save", "", "--appendonly", "no", "--dir", str(self._folder)]
        self._run(["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", *keeps_nothing])
        until(self._answers)

    def _answers(self) -> bool:
        with contextlib.suppress(redis.RedisError):
            return bool(redis.Redis(port=self.port).ping())
        return False


class Web(Process):
    """`fencepost serve`, with its own worker unless others work."""

    name = "web"

    def __init__(self, folder: Path, environ: dict[str, str], *, module: list[str] | None = None) -> None:
        super().__init__(folder / "web.log")
        self._environ = environ
        self.port = free_port()
        self._command = [*(module or LAUNCHER), "serve", "--port", str(self.port), "--no-examples"]

    def start(self) -> None:
        self._run(self._command, env=self._environ)
        until(self._answers)

    def kill(self) -> None:
        """The server alone: its worker hears of it by itself."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def worker(self) -> int | None:
        """Its worker, where there is one now."""
        for pid in children(self.pid):
            with contextlib.suppress(OSError):
                if re.search(rb"\0work\0", Path(f"/proc/{pid}/cmdline").read_bytes()):
                    return pid
        return None

    def _answers(self) -> bool:
        if self.process is not None and self.process.poll() is not None:
            raise RuntimeError("the web server ended while it started: see web.log")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
            return True
        return False


class Worker(Process):
    """`fencepost work --stay`; with a broker it is Celery's with two processes."""

    name = "worker"

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        super().__init__(folder / "worker.log")
        self._environ = environ

    def start(self) -> None:
        options = ["--processes", "2"] if self._environ.get("FENCEPOST_BROKER") else []
        self._run([*LAUNCHER, "work", "--stay", *options], env=self._environ)
