"""The workflow of docs/ci.md, run line by line in a project as it describes: it passes, and fails once it should."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest
import yaml

from tests import forking
from tests.gate.made import CASES, write
from tests.gate.test_pytest_plugin import run_forked

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import os, sys
from webapp.cli import main
os.chdir(sys.argv.pop(1))
os.dup2(1, 2)
main(prog_name="fencepost")
"""
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
    environ = os.environ | {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    with forking.script(PROGRAM, str(folder), *arguments, environ=environ, text=True) as process:
        out, _ = process.communicate()
        return process.wait(), out


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
