"""A bounded run of the fuzzer: with atheris where it is installed, else with our own mutations of the cases."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

RUNS = 1_000


def test_a_bounded_run_finds_no_broken_promise() -> None:
    fuzzer = Path(__file__).with_name("fuzz.py")
    done = subprocess.run([sys.executable, fuzzer, "--runs", str(RUNS)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert f"Done {RUNS} " in done.stderr or f"{RUNS} texts" in done.stdout
