"""Runs of pytest over files that a test wrote, forked off a process that has imported pytest and this program."""

from __future__ import annotations

import os
from pathlib import Path

from tests import forking

FORKED = """
import os, sys
import pytest
os.chdir(sys.argv[1])
os.dup2(1, 2)
sys.exit(pytest.main(sys.argv[2:]))
"""


def run_pytest(folder: Path, *arguments: str, **environ: str) -> tuple[int, str]:
    """The exit code and what is printed, without the plugins of this environment."""
    words = (str(folder), "-pno:cacheprovider", *arguments)
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    with forking.script(
        FORKED, *words, environ={**os.environ, **alone, **environ}, imports=("pytest",), text=True
    ) as process:
        out, _ = process.communicate()
        return process.wait(), out
