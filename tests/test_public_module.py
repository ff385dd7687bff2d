"""`from fencepost import …` in a program of somebody else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ENVIRON = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[1])}


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from fencepost import parse; print(parse('[1]').values)"]
    return subprocess.run(command, cwd=folder, env=ENVIRON, capture_output=True, text=True, check=False)


def test_a_package_called_webapp_that_hides_ours_is_named(tmp_path: Path) -> None:
    (tmp_path / "webapp").mkdir()
    (tmp_path / "webapp" / "__init__.py").touch()
    done = run(tmp_path)
    assert done.returncode == 1
    said = done.stderr.splitlines()[-1]
    assert said.startswith(f"ImportError: {tmp_path / 'webapp' / '__init__.py'} is another package called webapp")
    assert "pytest --fencepost" in said


def test_an_error_within_a_module_of_ours_stays_as_it_is(tmp_path: Path) -> None:
    code = "import sys; sys.modules['webapp.client'] = None; import fencepost"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=ENVIRON, capture_output=True, text=True, check=False
    )
    assert "another package" not in done.stderr and "webapp.client" in done.stderr.splitlines()[-1]
