"""The files that run Fencepost elsewhere, tried by their engine where it is on the machine."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import urllib.request
from pathlib import Path

import pytest
import yaml

from tests import forking
from webapp.config import describe

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = {name for name, _ in describe()}
INSTRUCTIONS = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "VOLUME", "USER", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"}


def instructions() -> list[tuple[str, str]]:
    """Those of the Dockerfile, with continued lines joined."""
    text = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def test_the_image_copies_what_is_there_and_does_not_run_as_root() -> None:
    assert {word for word, _ in instructions()} <= INSTRUCTIONS
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert all((ROOT / path).exists() for path in allowed)
    packaged = re.search(r"only-include = \[(.*)\]", (ROOT / "pyproject.toml").read_text())
    assert packaged and set(re.findall(r'"([^"]+)"', packaged[1])) <= set(allowed)
    own = [rest.split()[0] for word, rest in instructions() if word == "COPY" and not rest.startswith("--from")]
    assert set(own) == {".", "constraints.txt"}
    assert [rest for word, rest in instructions() if word == "USER"][-1] != "root"


def test_compose_gives_settings_that_exist() -> None:
    services = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())["services"]
    given = {name for name in services["fencepost"]["environment"] if name.startswith("FENCEPOST_")}
    assert given and given <= SETTINGS
    assert set(services["fencepost"]["depends_on"]) <= set(services)
    assert services["fencepost"]["read_only"] is True


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze on this machine")
@pytest.mark.parametrize("name", ["fencepost.service", "fencepost-worker@.service"])
def test_systemd_takes_the_unit(tmp_path: Path, name: str) -> None:
    text = (ROOT / "deploy" / name).read_text()
    unit = tmp_path / name.replace("@", "@1")
    unit.write_text(re.sub(r"ExecStart=\S+", "ExecStart=/bin/true", text))
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_procfile_serves_and_ends_on_sigterm(tmp_path: Path) -> None:
    lines = dict(line.split(": ") for line in (ROOT / "Procfile").read_text().splitlines())
    assert lines.pop("worker") == "fencepost work --stay"  # tests/store/jobs/test_tasks.py runs it
    environ = {**os.environ, "FENCEPOST_DATA": str(tmp_path), "PORT": "0", "HOST": "127.0.0.1", "PYTHONPATH": str(ROOT)}
    with forking.command(*shlex.split(lines.pop("web"))[1:], "--no-examples", environ=environ) as server:
        assert not lines
        address = server.stdout.readline().split()[3]
        with urllib.request.urlopen(f"{address}/readyz", timeout=60) as answer:
            assert answer.status == 200
        server.terminate()
        assert server.wait(60) == 0
