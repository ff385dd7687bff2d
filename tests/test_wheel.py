"""A wheel, installed into an empty virtual environment in an empty folder, serves the same pages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def run(*command: str | Path, cwd: Path) -> None:
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `fencepost` program of a wheel built from this tree and installed with its pinned dependencies."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder / "dist", cwd=ROOT)
    run(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
    wheel = next((folder / "dist").glob("*.whl"))
    pip = [folder / "venv/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run(*pip, "--constraint", ROOT / "constraints.txt", wheel, cwd=folder)
    return folder / "venv/bin/fencepost"


@pytest.fixture
def served(program: Path, tmp_path: Path) -> Iterator[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("FENCEPOST_", "PYTHONPATH"))}
    environ |= {"XDG_DATA_HOME": str(tmp_path / "home"), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [program, "serve", "--port", "0"], cwd=tmp_path, env=environ, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    found = re.search(r"http://\S+?:\d+", process.stdout.readline())
    assert found
    yield found.group()
    process.terminate()
    process.wait(10)
    process.stdout.close()


def read(url: str) -> str:
    with urllib.request.urlopen(url) as answer:
        return str(answer.read().decode())


def test_the_wheel_serves_pages_static_files_and_examples(served: str, tmp_path: Path) -> None:
    page = read(served)
    assert "ui_run_764686752e2f" in page
    for asset in re.findall(r'(?:href|src)="(/static/[^"]+)"', page):
        assert read(served + asset)
    assert "run_code" in read(f"{served}/sessions/ui_run_764686752e2f")
    assert (tmp_path / "home/fencepost/fencepost.sqlite3").is_file()
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def test_the_program_parses_without_a_server(program: Path, tmp_path: Path) -> None:
    done = subprocess.run([program, "parse", "--json"], input='{"a": 1}', cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and '"clean"' in done.stdout
