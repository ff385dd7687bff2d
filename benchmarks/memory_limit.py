"""Whether `fencepost serve`, pages and worker, lives in a cgroup of 512 MB over 1,000,000 turns. Linux, as root.

    python -m benchmarks.memory_limit [--turns 1000000] [--megabytes 512] [--folder DIR] [--dump 20] [--whole]

Walks all pages of `benchmarks.pages` twice, ingests a made dump behind the request, replays a profile over a month's
responses (`--whole`: over all), and walks the pages again meanwhile. The database in `--folder` is written to. Prints
one JSON document: what each step took, the most memory that was not page cache, and how often the kernel killed.
Where no cgroup can be made it says so and exits with 1.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.generated import database_of
from benchmarks.ingest import write_dump
from benchmarks.pages import LIST, ROOT, _asked, _inner
from webapp.config import MEGABYTE, Settings

CGROUPS = Path("/sys/fs/cgroup")
MONTH = "since=2025-10-01&until=2025-10-31"
PROFILE = "windlass-balanced"
IN_GROUP = 'echo $$ > "$0/cgroup.procs" && exec "$@"'
"""a shell that enters the group and becomes the server, whose processes are all in it then"""


class Group:
    """A cgroup with a limit of memory and no swap; version 2, or version 1's `memory` controller."""

    def __init__(self, megabytes: int) -> None:
        self.is_new = "memory" in _text(CGROUPS / "cgroup.controllers").split()
        parent = CGROUPS if self.is_new else CGROUPS / "memory"
        if self.is_new and "memory" not in _text(CGROUPS / "cgroup.subtree_control").split():
            (CGROUPS / "cgroup.subtree_control").write_text("+memory")
        self.path = parent / f"fencepost-{os.getpid()}"
        self.path.mkdir()
        try:
            self._limit(megabytes * MEGABYTE)
        except OSError:
            self.path.rmdir()
            raise

    def _limit(self, size: int) -> None:
        memory, swap = ("max", "swap.max") if self.is_new else ("limit_in_bytes", "memsw.limit_in_bytes")
        (self.path / f"memory.{memory}").write_text(str(size))
        if (self.path / f"memory.{swap}").exists():  # a kernel that counts swap
            (self.path / f"memory.{swap}").write_text("0" if self.is_new else str(size))

    def kills(self) -> int:
        file = "memory.events" if self.is_new else "memory.oom_control"
        found = re.search(r"^oom_kill (\d+)", _text(self.path / file), re.MULTILINE)
        return int(found[1]) if found else 0

    def anonymous(self) -> float:
        """Megabytes that are not page cache, of all processes."""
        found = re.search(r"^(?:anon|rss) (\d+)", _text(self.path / "memory.stat"), re.MULTILINE)
        return int(found[1]) / MEGABYTE if found else 0.0

    def peak(self) -> float:
        """Megabytes at most, page cache included: what the kernel gives back before it kills."""
        file = "memory.peak" if self.is_new else "memory.max_usage_in_bytes"
        return int(_text(self.path / file) or 0) / MEGABYTE

    def remove(self) -> None:
        for _ in range(50):  # processes leave it a little after they have ended
            try:
                self.path.rmdir()
                return
            except OSError:
                time.sleep(0.2)


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=1_000_000)
    parser.add_argument("--megabytes", type=int, default=512)
    parser.add_argument("--folder", type=Path, help="where databases are kept for the next time")
    parser.add_argument("--dump", type=int, default=20, help="megabytes of the dump that is ingested")
    parser.add_argument("--whole", action="store_true", help="replay all responses")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the server is stopped too
    with tempfile.TemporaryDirectory(prefix="fencepost-limit-") as folder:
        settings = database_of(options.folder or Path(folder), options.turns)
        try:
            group = Group(options.megabytes)
        except OSError as error:
            raise SystemExit(f"no cgroup with a limit of memory can be made here: {error}") from None
        try:
            report = _measured(settings, group, options.dump, "" if options.whole else MONTH)
        finally:
            group.remove()
    print(json.dumps({"turns": options.turns, "limit_megabytes": options.megabytes, **report}, indent=2))


def _measured(settings: Settings, group: Group, megabytes: int, query: str) -> dict[str, Any]:
    report: dict[str, Any] = {"steps": {}}
    with _serving(settings, group) as (process, url), _watching(group) as most:
        try:
            for name, seconds, more in _steps(url, _inner(settings), megabytes, query):
                report["steps"][name] = {"seconds": seconds, "anonymous_megabytes": round(most.pop()), **more}
                most.append(group.anonymous())
        except (OSError, http.client.HTTPException) as error:
            report["broke_off"] = repr(error)
        report["server_lives"] = process.poll() is None
    return report | {"kills": group.kills(), "peak_megabytes_with_page_cache": round(group.peak())}


def _steps(url: str, inner: dict[str, str], megabytes: int, query: str) -> Iterator[tuple[str, float, dict[str, Any]]]:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=600)
    pages = [*(LIST | inner).values(), "/failures", "/profiles"]
    began = time.perf_counter()
    for name in ("pages, first time", "pages, again"):
        for path in pages:
            _asked(connection, path)
        yield name, _since(began), {"pages": len(pages)}
        began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="fencepost-limit-") as folder:
        body = write_dump(Path(folder), "lines", megabytes).read_bytes()
    job = _sent(connection, "/api/dumps?filename=limit.jsonl&background=1", body)["job"]["id"]
    ended = _until_ended(connection, f"/api/jobs/{job}", "job")
    yield "ingest", _since(began), {"state": ended["state"], "megabytes": round(len(body) / MEGABYTE, 1)}
    began = time.perf_counter()
    run = _sent(connection, f"/api/profiles/{PROFILE}/runs?{query}", b"")["run"]["id"]
    for path in pages:
        _asked(connection, path)
    yield "pages, during the replay", _since(began), {"pages": len(pages)}
    ended = _until_ended(connection, f"/api/runs/{run}", "run")
    yield "replay", _since(began), {"state": ended["state"], "responses": ended["counts"]["responses"]}


def _since(began: float) -> float:
    return round(time.perf_counter() - began, 1)


def _sent(connection: http.client.HTTPConnection, path: str, body: bytes) -> Any:
    connection.request("POST", path, body)
    answer = connection.getresponse()
    said = answer.read()
    if answer.status != 202:
        raise SystemExit(f"{path} answered {answer.status}: {said[:300]!r}")
    return json.loads(said)


def _until_ended(connection: http.client.HTTPConnection, path: str, name: str) -> dict[str, Any]:
    while True:
        connection.request("GET", path)
        shown: dict[str, Any] = json.loads(connection.getresponse().read())[name]
        if shown["state"] not in ("queued", "running"):
            return shown
        time.sleep(0.5)


@contextmanager
def _serving(settings: Settings, group: Group) -> Iterator[tuple[subprocess.Popen[str], str]]:
    environ = {**os.environ, "FENCEPOST_DATA": str(settings.data), "PYTHONPATH": str(ROOT)}
    server = [sys.executable, "-m", "webapp", "serve", "--port", "0", "--no-examples"]
    command = ["sh", "-c", IN_GROUP, str(group.path), *server]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            url = next(match[0] for line in process.stdout if (match := re.search(r"http://\S+?:\d+", line)))
            yield process, url
        finally:
            process.terminate()
            process.wait(60)


@contextmanager
def _watching(group: Group) -> Iterator[list[float]]:
    """The most memory that is not page cache since the list was last emptied, looked at ten times a second."""
    most, ends = [0.0], threading.Event()

    def watch() -> None:
        while not ends.wait(0.1):
            most[:] = [max([*most, group.anonymous()])]

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield most
    finally:
        ends.set()
        thread.join()


if __name__ == "__main__":
    main()
