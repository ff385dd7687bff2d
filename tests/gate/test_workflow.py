"""The workflow of docs/ci.md, run line by line in a project as it describes: it passes, and fails once it should."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.gate.made import CASES, write
from tests.gate.test_pytest_plugin import run_forked

ROOT = Path(__file__).resolve().parents[2]
TOLERANT = """
import json

def parse(text):
    start, end = text.find("{"), text.rfind("}") + 1
    return json.loads(text[start:end].replace(",]", "]").replace(",}", "}")) if end else json.loads("null")
"""


def steps() -> list[str]:
    text = re.search(r"```yaml\n(.*?)```", (ROOT / "docs" / "ci.md").read_text(), re.DOTALL)
    assert text
    (job,) = yaml.safe_load(text[1])["jobs"].values()
    return [step["run"] for step in job["steps"] if "run" in step]


def run(folder: Path, line: str) -> tuple[int, str]:
    """One line of the workflow, by this environment's programs."""
    program, *arguments = shlex.split(line)
    if program != "fencepost":
        assert (program, *arguments[:2]) == ("python", "-m", "pytest")
        return run_forked(folder, *arguments[2:])
    command = [sys.executable, "-I", "-m", "webapp", *arguments]
    environ = os.environ | {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environ)
    return done.returncode, done.stdout + done.stderr


def write_project(folder: Path) -> None:
    """A project as the page describes it, but for the baseline."""
    folder.mkdir(exist_ok=True)
    (folder / "acme_parser.py").write_text(TOLERANT)
    write(
        folder / "cases.jsonl",
        [CASES[0], CASES[1], CASES[2], *({**CASES[1], "id": f"like {n}", "split": "test"} for n in range(3))],
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_project(tmp_path)
    return tmp_path


def test_the_workflow_of_the_page_runs_line_by_line(project: Path) -> None:
    install, check, tests = steps()
    assert install == 'python -m pip install "$(ls ./fencepost-*.whl)[server]" pytest'
    code, out = run(project, check)
    assert code == 1 and "baseline created" in out and "::error title=Fencepost gate::" in out, out
    assert run(project, check)[0] == 0
    code, out = run(project, tests)
    assert code == 0 and "passed" in out and "failed" not in out, out
    (project / "acme_parser.py").write_text("import json\n\ndef parse(text):\n    return json.loads(text)\n")
    code, out = run(project, check)
    assert code == 1 and "::error title=Fencepost regression::" in out, out
    assert (
        "right before, missed now" in (project / "gate.md").read_text() or "missed" in (project / "gate.md").read_text()
    )
    assert (
        "<failure" in (project / "gate.xml").read_text() and "Fencepost: failed" in (project / "summary.md").read_text()
    )
    code, out = run(project, tests)
    assert code == 1 and "▲" in out and "stops at line 1" in out, out
