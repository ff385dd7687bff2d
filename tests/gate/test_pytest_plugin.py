"""The pytest plugin in real runs of pytest: one test a response, a failure draws its trace, inert without option."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.gate.made import CASES, write
from tests.pytest_run import run_pytest

INSTALLED = entry_points(group="pytest11", name="fencepost")
PLUGINS = ["-pno:cacheprovider", "-pno:playwright", "-pno:schemathesis", *([] if INSTALLED else ["-pfencepost_pytest"])]
# what a run of pytest here is given besides; the plugin is named where this environment was installed before it came
PARSER = """
import json

def parse(text):
    return json.loads(text)
"""


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    """pytest as people start it."""
    command = [sys.executable, "-m", "pytest", *PLUGINS, "-v", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def run_forked(folder: Path, *arguments: str) -> tuple[int, str]:
    """The same, forked off, without others' plugins."""
    return run_pytest(folder, "-pfencepost_pytest", "-v", *arguments)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Somebody's project: a parser, a program that is called `webapp`, a test, and cases."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "acme_parser.py").write_text(PARSER)
    (folder / "webapp").mkdir()
    (folder / "webapp" / "__init__.py").write_text("raise SystemExit('theirs was imported')\n")
    (folder / "test_own.py").write_text("def test_own(): pass\n")
    write(folder / "cases.jsonl")
    return folder


def test_each_response_is_a_test_and_a_failure_draws_its_trace(project: Path) -> None:
    code, out = run(project, "--fencepost", "cases.jsonl", "--fencepost-profile", "acme_parser:parse")
    assert code == 1, out
    assert "cases.jsonl::plain PASSED" in out and "test_own.py::test_own PASSED" in out
    assert "cases.jsonl::unlabelled SKIPPED" in out and "cases.jsonl::prose PASSED" in out
    for name in ("fenced", "comma"):
        assert f"cases.jsonl::{name} FAILED" in out
    comma = out[out.index("_ cases.jsonl::comma _") if "_ cases.jsonl::comma _" in out else 0 :]
    place = {'1 │ {"a": [1, 2,▲],}', '1 │ {"a": [1, 2▲,],}'}  # Python 3.13 points at the comma
    assert place & set(comma.splitlines())
    assert "attempt 1" in comma and 'expected: {"a":[1,2]}' in comma and "got: no value" in comma
    assert "theirs was imported" not in out and "Traceback" not in out


def test_a_wrong_value_shows_edits_and_the_first_difference(project: Path) -> None:
    wrong = [{**CASES[2], "expected": [{"a": [1, 3]}]}]
    write(project / "wrong.jsonl", wrong)
    code, out = run_forked(project, "--fencepost", "wrong.jsonl", "-k", "wrong.jsonl")
    assert code == 1 and "1 deselected" in out, out
    assert "silently wrong" in out and "trailing_comma at line 1" in out
    assert "first difference at [0].a[1]:" in out and "expected 3" in out and "got      2" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--fencepost", "nothing.jsonl"], "nothing.jsonl"),
        (["--fencepost", "cases.jsonl", "--fencepost-profile", "nobody"], "no profile is called 'nobody'"),
        (["--fencepost", "test_own.py"], "test_own.py, line 1: no JSON"),
    ],
)
def test_what_cannot_be_run_is_an_error_in_words(project: Path, arguments: list[str], words: str) -> None:
    code, out = run_forked(project, *arguments)
    assert code == 4 and words in out and "Traceback" not in out, out


def test_without_its_option_it_does_nothing_and_loads_nothing_of_ours() -> None:
    script = "import sys, fencepost_pytest; print(sorted(name for name in sys.modules if name.startswith('webapp')))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
