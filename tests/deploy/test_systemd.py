"""The units under deploy/, run by systemd as docs/deploy.md shows: as PID 1 of a container.

Runs where Podman has an image called `fencepost-systemd`; `tests/deploy/systemd/Dockerfile` says how to make it, which
needs the network.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import time
import uuid
from collections.abc import Iterator

import pytest

from tests.deploy.page import EXAMPLE, ROOT, TOKEN, ask, fenced
from tests.store.conftest import administer
from tests.until import until

PROGRAM = "/opt/fencepost/.venv/bin/fencepost"
BASE = f"FENCEPOST_TOKEN={TOKEN}\nPORT=0\nPYTHONUNBUFFERED=1\n"


def shown() -> list[str]:
    """The commands of the page's section, line by line."""
    return fenced("systemd")


def is_done_by_the_image(line: str) -> bool:
    return "-m venv" in line or "-m pip" in line or line.startswith("cp ")


def test_the_image_is_made_with_the_lines_of_the_page() -> None:
    made = (ROOT / "tests/deploy/systemd/Dockerfile").read_text()
    assert all(f"RUN {line}\n" in made for line in shown() if is_done_by_the_image(line) and "cp " not in line)
    assert sum(is_done_by_the_image(line) for line in shown()) == 3


def podman(*words: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["podman", *words], input=given, capture_output=True, text=True, check=False, timeout=120)


@functools.cache
def needs_the_image() -> None:
    if shutil.which("podman") is None:
        pytest.skip("there is no Podman on this machine")
    if podman("image", "inspect", "fencepost-systemd").returncode:
        pytest.skip("Podman has no image called fencepost-systemd: tests/deploy/systemd/Dockerfile says how to make it")


class Machine:
    """A container that systemd booted, with the units of this tree."""

    def __init__(self, name: str) -> None:
        self.name = name

    def run(self, line: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
        return podman("exec", "--interactive", self.name, "sh", "-c", line, given=given)

    def output(self, line: str, given: str | None = None) -> str:
        done = self.run(line, given)
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        return done.stdout.strip()

    def configure(self, *lines: str) -> None:
        self.output("cat > /etc/fencepost.env", BASE + "".join(f"{line}\n" for line in lines))

    def fact(self, name: str, unit: str = "fencepost") -> str:
        return self.output(f"systemctl show --property {name} --value {unit}")

    def journal(self, unit: str = "fencepost") -> str:
        """What this start of a unit wrote, and what systemd wrote about it."""
        identity = self.fact("InvocationID", unit)
        chosen = f"_SYSTEMD_INVOCATION_ID={identity} + INVOCATION_ID={identity}"
        return self.output(f"journalctl --no-pager --output cat {chosen}")

    def address(self) -> str:
        """Where the server is, once it is ready."""
        until(lambda: "Fencepost is at" in self.journal(), self.journal)
        found = re.findall(r"Fencepost is at (http://[\d.:]+)", self.journal())
        assert b'"ok"' in ask(found[-1], "/readyz")
        return str(found[-1])

    def until_restarted(self, unit: str = "fencepost") -> None:
        until(lambda: self.fact("NRestarts", unit) != "0" and self.fact("ActiveState", unit) == "active", self.journal)


@pytest.fixture(scope="module")
def booted() -> Iterator[Machine]:
    needs_the_image()
    machine = Machine(f"fencepost_systemd_{uuid.uuid4().hex[:8]}")
    words = ["--detach", "--systemd=always", "--network=host", "--cap-add=SYS_ADMIN", "--cap-add=SYS_PTRACE"]
    started = podman("run", *words, "--name", machine.name, "fencepost-systemd")
    try:
        assert started.returncode == 0, started.stderr
        until(lambda: machine.run("systemctl is-system-running").stdout.strip() in ("running", "degraded"), str)
        for unit in (ROOT / "deploy").glob("*.service"):
            machine.output(f"cat > '/etc/systemd/system/{unit.name}'", unit.read_text())
        for line in shown():
            if not is_done_by_the_image(line) and "systemctl" not in line and "systemd-run" not in line:
                machine.output(line)
        assert re.fullmatch(r"FENCEPOST_TOKEN=\S{40,}", machine.output("cat /etc/fencepost.env"))
        yield machine
    finally:
        podman("rm", "--force", "--time", "5", machine.name)


@pytest.fixture
def machine(booted: Machine) -> Iterator[Machine]:
    """With nothing of Fencepost running before and after, and the settings of the tests."""
    booted.configure()
    booted.output("systemctl daemon-reload")
    yield booted
    booted.output("systemctl stop 'fencepost*'; systemctl reset-failed; rm -rf /var/lib/private/fencepost")


def started_as_shown(machine: Machine) -> str:
    lines = [line for line in shown() if line.startswith("systemctl") and "worker@" not in line]
    assert [line.split()[1] for line in lines] == ["daemon-reload", "enable", "status"]
    for line in lines:
        machine.output(line)
    return machine.address()


def test_it_serves_starts_again_when_killed_and_stops(machine: Machine) -> None:
    address = started_as_shown(machine)
    assert b'"sessions":[' in ask(address, "/api/dumps?filename=x.json", EXAMPLE.read_bytes())
    assert machine.output("systemctl is-enabled fencepost") == "enabled"
    machine.output("kill -9 $(systemctl show --property MainPID --value fencepost)")
    machine.until_restarted()
    assert b'"raw"' in ask(machine.address(), "/api/session/circle_2025-12-05_extraction/turns/4")
    machine.output("systemctl restart fencepost")
    assert b'"raw"' in ask(machine.address(), "/api/session/circle_2025-12-05_extraction/turns/4")
    machine.output("systemctl stop fencepost")
    assert (machine.fact("Result"), machine.fact("ExecMainStatus")) == ("success", "0")
    assert "stopped" in machine.journal().splitlines()


def test_it_stops_as_well_while_it_starts(machine: Machine) -> None:
    for seconds in (0.3, 1, 2):
        machine.output(f"systemctl start fencepost; sleep {seconds}; systemctl stop fencepost")
        assert (machine.fact("Result"), machine.fact("ExecMainStatus")) == ("success", "0"), machine.journal()


def test_it_writes_to_its_own_folder_alone(machine: Machine) -> None:
    started_as_shown(machine)
    inside = "nsenter --mount --target $(systemctl show --property MainPID --value fencepost)"
    for path in ("/usr/x", "/etc/x", "/opt/fencepost/x", "/var/lib/x", "/home/x"):
        assert machine.run(f"{inside} touch {path}").returncode != 0, path
    machine.output(f"{inside} touch /var/lib/fencepost/x /tmp/x")
    assert machine.run("test -e /tmp/x").returncode != 0
    status = machine.output("cat /proc/$(systemctl show --property MainPID --value fencepost)/status")
    assert re.search(r"^NoNewPrivs:\t1$", status, re.M) and re.search(r"^CapEff:\t0+$", status, re.M)
    assert not re.search(r"^Uid:\t0", status, re.M)


def test_a_wrong_setting_is_said_and_not_tried_again(machine: Machine) -> None:
    machine.configure("FENCEPOST_MAX_UPLOAD=lots")
    machine.output("systemctl start fencepost")
    until(lambda: machine.fact("ActiveState") == "failed", machine.journal)
    time.sleep(6)  # longer than RestartSec
    assert (machine.fact("ExecMainStatus"), machine.fact("NRestarts")) == ("2", "0")
    assert "FENCEPOST_MAX_UPLOAD" in machine.run("systemctl status --no-pager fencepost").stdout


def test_a_command_runs_with_the_servers_user(machine: Machine) -> None:
    started_as_shown(machine)
    (line,) = (line for line in shown() if line.startswith("systemd-run"))
    assert "checked" in machine.output(line)
    owners = set(machine.output("stat --format %u /var/lib/private/fencepost/*").split())
    assert len(owners) == 1 and "0" not in owners


@pytest.fixture
def database() -> Iterator[str]:
    name = f"fencepost_systemd_{uuid.uuid4().hex[:8]}"
    yield name
    administer(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@pytest.mark.postgres
def test_workers_wait_for_the_database_and_share_the_jobs(machine: Machine, database: str) -> None:
    machine.configure(f"FENCEPOST_DATABASE=postgresql+psycopg://root@127.0.0.1/{database}", "FENCEPOST_ROLE=web")
    (line,) = (line for line in shown() if "worker@" in line)
    machine.output(line)
    until(
        lambda: int(machine.fact("NRestarts", "fencepost-worker@1")) > 0, lambda: machine.journal("fencepost-worker@1")
    )
    administer(f"CREATE DATABASE {database}")
    address = started_as_shown(machine)
    ask(address, "/api/dumps?filename=x.json&background=1", EXAMPLE.read_bytes())
    until(lambda: b'"state":"done"' in ask(address, "/api/jobs/1"), lambda: machine.journal("fencepost-worker@1"))
    for unit in ("fencepost-worker@1", "fencepost-worker@2"):
        until(lambda unit=unit: "Fencepost works for" in machine.journal(unit), machine.journal)  # type: ignore[misc]
    machine.output("kill -9 $(systemctl show --property MainPID --value fencepost-worker@2)")
    machine.until_restarted("fencepost-worker@2")
    machine.output("systemctl stop fencepost-worker@1 fencepost-worker@2")
    assert machine.fact("Result", "fencepost-worker@1") == machine.fact("Result", "fencepost-worker@2") == "success"
