"""`.ci/run` runs every step and fails where one of them fails, also the one that runs beside the others."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
STEPS = ["tools", "collected", "style", "types", "audit", "test"]
MAKE = """#!/bin/sh
echo "made $1, CI=$CI" | tee -a "$MADE"
test "$1" != "$REFUSED"
"""


def run(folder: Path, refused: str = "") -> tuple[int, str, set[str]]:
    make, made = folder / "make", folder / "made"
    make.write_text(MAKE)
    make.chmod(0o755)
    environ = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "MADE": str(made), "REFUSED": refused}
    done = subprocess.run([ROOT / ".ci" / "run"], env=environ, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr, set(made.read_text().splitlines())


def test_every_step_is_run_and_shown(tmp_path: Path) -> None:
    status, said, made = run(tmp_path)
    assert status == 0 and made == {f"made {step}, CI=true" for step in STEPS}
    assert made <= set(said.splitlines())


@pytest.mark.parametrize("step", STEPS)
def test_a_step_that_fails_fails_the_run(step: str, tmp_path: Path) -> None:
    status, said, _ = run(tmp_path, step)
    assert status != 0 and f"made {step}, CI=true" in said


@pytest.mark.parametrize("step", ["types", "audit"])
def test_the_others_are_run_all_the_same(step: str, tmp_path: Path) -> None:
    status, said, made = run(tmp_path, step)
    assert status != 0 and "made test, CI=true" in made and f"Failed: {step}" in said


def test_lint_is_the_two_steps_of_it() -> None:
    said = subprocess.run(["make", "-n", "lint"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for tool in ("ruff check", "ruff format --check", "mypy", "lint-imports", "djlint"):
        assert tool in said
