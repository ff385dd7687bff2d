"""The image, run by Docker or Podman as docs/deploy.md shows: read-only, without root, in each role.

Runs where an engine has an image called `fencepost`: `docker build -t fencepost .` makes it, which needs the network.
"""

from __future__ import annotations

import contextlib
import functools
import shutil
import subprocess
import uuid
from collections.abc import Iterator

import pytest

from tests.deploy.page import EXAMPLE, TOKEN, ask
from tests.store.conftest import administer
from tests.until import until

READ_ONLY = ["--read-only", "--tmpfs", "/tmp"]


@functools.cache
def engine() -> str:
    """The engine that has the image; skips where there is none, or it has none."""
    engines = [name for name in ("docker", "podman") if shutil.which(name)]
    if not engines:
        pytest.skip("there is neither Docker nor Podman on this machine")
    for name in engines:
        if subprocess.run([name, "image", "inspect", "fencepost"], capture_output=True, check=False).returncode == 0:
            return name
    pytest.skip(f"{' and '.join(engines)} have no image called fencepost: docker build -t fencepost .")


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([engine(), *words], capture_output=True, text=True, check=False, timeout=120)


def output(*words: str) -> str:
    done = run(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def ready(address: str) -> None:
    def answers() -> bool:
        with contextlib.suppress(OSError):
            return bool(ask(address, "/readyz"))
        return False

    until(answers, lambda: f"{address}/readyz never answered 200")


@pytest.fixture
def name() -> Iterator[str]:
    """Begins the names of a test's containers, and is its volume's and its database's: all gone in the end."""
    name = f"fencepost_image_{uuid.uuid4().hex[:8]}"
    engine()
    yield name
    for container in run("ps", "--all", "--quiet", "--filter", f"name={name}").stdout.split():
        run("rm", "--force", container)
    run("volume", "rm", "--force", name)


def started(name: str, *words: str) -> str:
    """The address of a server in a container of that name, which answers."""
    given = ["--detach", "--name", name, *READ_ONLY, "--env", f"FENCEPOST_TOKEN={TOKEN}"]
    output("run", *given, "--publish", "127.0.0.1::5001", *words, "fencepost")
    address = f"http://{output('port', name, '5001/tcp').splitlines()[0]}"
    ready(address)
    return address


def stopped(container: str) -> tuple[str, str]:
    """The exit code and the last line of a container that is told to stop."""
    output("stop", "--time", "30", container)
    code = output("inspect", "--format", "{{.State.ExitCode}}", container)
    return code, (output("logs", container).splitlines() or [""])[-1]


def test_one_container_does_everything_and_keeps_it(name: str) -> None:
    address = started(f"{name}_first", "--volume", f"{name}:/data")
    assert b'"sessions":[' in ask(address, "/api/dumps?filename=x.json", EXAMPLE.read_bytes())
    assert output("exec", f"{name}_first", "id", "-u") == "10001"
    assert run("exec", f"{name}_first", "touch", "/usr/x").returncode != 0
    assert stopped(f"{name}_first") == ("0", "stopped")
    address = started(f"{name}_second", "--volume", f"{name}:/data")
    assert b'"raw"' in ask(address, "/api/session/circle_2025-12-05_extraction/turns/4")


def test_it_refuses_to_serve_a_network_without_a_token() -> None:
    done = run("run", "--rm", *READ_ONLY, "fencepost")
    assert done.returncode == 2 and "set FENCEPOST_TOKEN to a secret of your own first" in done.stderr


def test_passwords_and_openid_need_nothing_more() -> None:
    output("run", "--rm", "--entrypoint", "python", "fencepost", "-c", "import argon2, authlib, psycopg, celery")


@pytest.mark.postgres
def test_one_container_serves_and_another_one_reads(name: str) -> None:
    administer(f"CREATE DATABASE {name}")
    try:
        words = ["--network", "host", "--volume", f"{name}:/data"]
        words += ["--env", f"FENCEPOST_DATABASE=postgresql+psycopg://root@127.0.0.1/{name}"]
        given = ["--detach", *READ_ONLY, "--env", f"FENCEPOST_TOKEN={TOKEN}", *words]
        web = ["--env", "FENCEPOST_ROLE=web", "--env", "PORT=0", "--env", "PYTHONUNBUFFERED=1"]
        output("run", *given, "--name", f"{name}_web", *web, "fencepost", "serve", "--host", "127.0.0.1")
        address = announced(f"{name}_web")
        ready(address)
        ask(address, "/api/dumps?filename=x.json&background=1", EXAMPLE.read_bytes())
        assert b'"state":"queued"' in ask(address, "/api/jobs/1")
        output("run", *given, "--name", f"{name}_worker", "--env", "FENCEPOST_ROLE=worker", "fencepost")
        until(lambda: b'"state":"done"' in ask(address, "/api/jobs/1"))
        assert stopped(f"{name}_worker")[0] == "0"
        assert stopped(f"{name}_web") == ("0", "stopped")
    finally:
        administer(f"DROP DATABASE {name} WITH (FORCE)")


def announced(container: str) -> str:
    def words() -> list[str]:
        return run("logs", container).stdout.split()

    until(lambda: "at" in words(), lambda: run("logs", container).stderr)
    return words()[words().index("at") + 1]
