"""The audit of dependencies: findings fail, and what was not looked up is named, never passed over."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

AUDIT = Path(__file__).resolve().parents[1] / ".ci" / "audit.py"
GOOD = {"name": "flask", "version": "3.1.3", "vulns": []}
BAD = {"name": "old", "version": "1.0", "vulns": [{"id": "PYSEC-2026-1", "fix_versions": ["1.1", "2.0"]}]}
SKIPPED = {"name": "unknown", "skip_reason": "Dependency not found on PyPI and could not be audited: unknown (1)"}


@pytest.mark.parametrize(
    ("dependencies", "status", "words"),
    [
        ([GOOD], 0, "1 libraries audited, 0 findings, 0 not audited"),
        ([GOOD, SKIPPED], 0, "1 libraries audited, 0 findings, 1 not audited: unknown"),
        ([GOOD, BAD], 1, "old 1.0: PYSEC-2026-1, fixed in 1.1, 2.0\n2 libraries audited, 1 findings, 0 not audited"),
        ([SKIPPED], 0, "not run: no advisory service reachable (it knows none of 1 libraries)"),
        ([], 0, "not run: no advisory service reachable (it knows none of 0 libraries)"),
    ],
)
def test_the_report_says_what_was_audited(
    dependencies: list[dict[str, Any]], status: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert runpy.run_path(str(AUDIT))["report"](dependencies) == status
    assert words in capsys.readouterr().out


def test_without_a_service_nothing_is_said_to_be_well(tmp_path: Path) -> None:
    file = tmp_path / "constraints.txt"
    file.write_text("flask==3.1.3\n")
    nowhere = dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"), "http://127.0.0.1:9")
    environ = os.environ | nowhere | {"NO_PROXY": "", "no_proxy": "", "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, AUDIT, file], capture_output=True, text=True, env=environ, check=False)
    assert (done.returncode, done.stdout.startswith("Audit of dependencies not run")) == (0, True), done.stdout
