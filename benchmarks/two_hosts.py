"""A run that two worker hosts share, one of which is cut off from the network in the middle: it ends, exact.

    python -m benchmarks.two_hosts [--cuts 5] [--responses 4000]

Needs root and Linux: each host is a network namespace with a cable (veth) to this machine, where a PostgreSQL cluster
of its own listens. At a random moment of a run the second host's link goes down: nothing it sends arrives, and no end
of a connection is seen by either side. Then the run has to end with the first host alone; the link comes back, and the
second host has to take part in the next run. Prints one JSON document; removes namespaces and cluster in the end.
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
from collections import Counter
from io import BytesIO
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from benchmarks.reliability.processes import LAUNCHER, ROOT, Postgres, Process, until
from benchmarks.replay import dump, forget
from benchmarks.workers import has_ended, is_exact, refold_all
from webapp.config import Settings
from webapp.store.db import database
from webapp.store.ingest.start import ingest
from webapp.store.jobs import run_queue
from webapp.store.models import Run, RunChunk

PROFILE = "windlass-balanced"
LONGEST = 180.0
"""seconds that a run may take with one host cut off"""
_writing = sa.text(
    "SELECT count(*) FROM pg_stat_activity WHERE client_addr = CAST(:address AS inet) AND backend_xid IS NOT NULL"
)


class Host(Process):
    """A network namespace with a worker in it."""

    def __init__(self, number: int, folder: Path) -> None:
        super().__init__(folder / f"host-{number}.log")
        self.name, self._cable = f"fencepost{os.getpid()}-{number}", f"fp{os.getpid() % 100000}-{number}"
        self.here, self.there = f"10.231.{number}.1", f"10.231.{number}.2"
        self.settings: Settings | None = None

    def connect(self) -> None:
        ip(f"netns add {self.name}")
        ip(f"link add {self._cable} type veth peer name eth0 netns {self.name}")
        ip(f"addr add {self.here}/30 dev {self._cable}")
        ip(f"link set {self._cable} up")
        for command in (f"addr add {self.there}/30 dev eth0", "link set eth0 up", "link set lo up"):
            ip(f"-n {self.name} {command}")

    def set_link(self, state: str) -> None:
        ip(f"link set {self._cable} {state}")

    def start(self) -> None:
        assert self.settings is not None
        environ = {**os.environ, **self.settings.environment(), "PYTHONPATH": str(ROOT), "FENCEPOST_ROLE": "worker"}
        self._run(["ip", "netns", "exec", self.name, *LAUNCHER, "work", "--stay"], env=environ)

    def remove(self) -> None:
        self.kill()
        subprocess.run(["ip", "netns", "delete", self.name], check=False)
        subprocess.run(["ip", "link", "delete", self._cable], check=False, stderr=subprocess.DEVNULL)


def ip(arguments: str) -> None:
    subprocess.run(["ip", *arguments.split()], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuts", type=int, default=5)
    parser.add_argument("--responses", type=int, default=4000)
    parser.add_argument("--profile", default=PROFILE)
    parser.add_argument("--seed", default="1")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fencepost-hosts-") as name:
        folder = Path(name)
        hosts = [Host(number, folder) for number in (1, 2)]
        cluster = Postgres(folder, [host.here for host in hosts], [f"{host.there}/32" for host in hosts])
        try:
            for host in hosts:
                host.connect()
            cluster.start()
            result = measured(cluster, hosts, folder, options)
        finally:
            for host in hosts:
                host.remove()
            cluster.kill()
    print(json.dumps(result, indent=2))
    sys.exit(0 if all(cut["exact"] and cut["back"] for cut in result["cuts"]) else 1)


def measured(cluster: Postgres, hosts: list[Host], folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    settings = Settings(data=folder / "data", database=cluster.url)
    engine = database.connect(cluster.url)
    database.migrate(engine)
    ingest(engine, settings, BytesIO(dump(options.responses)), filename="responses.jsonl")
    for host in hosts:
        url = sa.make_url(cluster.url).set(host=host.here).render_as_string(hide_password=False)
        host.settings = Settings(data=folder / "data", database=url)
        host.start()
    chance, cuts = random.Random(options.seed), []
    begin(engine, options)
    whole, _ = watched(engine, hosts)
    for _ in range(options.cuts):
        cuts.append(cut_off(engine, hosts, options, chance, whole))
        print(json.dumps(cuts[-1]), file=sys.stderr, flush=True)
    engine.dispose()
    return {"responses": options.responses, "uncut_seconds": whole, "cuts": cuts, "load": round(os.getloadavg()[0], 1)}


def cut_off(
    engine: sa.Engine, hosts: list[Host], options: argparse.Namespace, chance: random.Random, whole: float
) -> dict[str, Any]:
    """One cut: how long the run took then, whether it is exact, whether the host that was cut off works again."""
    there = {"address": hosts[1].there}
    begin(engine, options)
    until(lambda: set(owners(engine)) >= {1, 2} or has_ended(engine), LONGEST)
    time.sleep(chance.uniform(0, whole / 3))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        end = time.monotonic() + 2  # in a transaction, where that can be met: its locks are the danger
        while time.monotonic() < end and not connection.scalar(_writing, there):
            pass
        hosts[1].set_link("down")
        time.sleep(1)
        in_transaction = connection.scalar(_writing, there)
    was_over = has_ended(engine)
    seconds, _ = watched(engine, hosts)
    exact = has_ended(engine) and is_exact(engine, options)
    hosts[1].set_link("up")
    began = time.monotonic()
    back = False
    while not back and time.monotonic() - began < LONGEST:
        begin(engine, options)
        _, shares = watched(engine, hosts)
        back = bool(shares[2]) and has_ended(engine) and is_exact(engine, options)
    return {
        "in_transaction": bool(in_transaction),
        "over_before": was_over,
        "seconds": seconds,
        "exact": exact,
        "back": back,
        "back_after": round(time.monotonic() - began, 1),
    }


def begin(engine: sa.Engine, options: argparse.Namespace) -> None:
    forget(engine, options.profile)
    refold_all(engine)
    run_queue.queue(engine, options.profile)


def watched(engine: sa.Engine, hosts: list[Host]) -> tuple[float, Counter[int]]:
    """Seconds until the run has ended, and how often each host was seen with a chunk of it."""
    began, seen = time.monotonic(), Counter[int]()
    while not has_ended(engine) and time.monotonic() - began < LONGEST:
        seen.update(owners(engine))
        time.sleep(0.05)
    assert all(host.process is not None and host.process.poll() is None for host in hosts), "a worker ended"
    return round(time.monotonic() - began, 1), seen


def owners(engine: sa.Engine) -> list[int]:
    """The hosts that have chunks now. Both have this machine's name: their processes tell them apart."""
    with engine.connect() as connection:
        query = sa.select(RunChunk.owner).join(Run, Run.id == RunChunk.run_id).where(RunChunk.state == "running")
        pids = [int(owner.split(":")[-2]) for owner in connection.scalars(query) if owner]
    return [number for pid in pids if (number := _host_of(pid))]


def _host_of(pid: int) -> int | None:
    """By the end of its namespace's name; None where the process is gone."""
    name = subprocess.run(["ip", "netns", "identify", str(pid)], capture_output=True, text=True, check=False).stdout
    return int(name.strip().rpartition("-")[2]) if name.strip() else None


if __name__ == "__main__":
    main()
