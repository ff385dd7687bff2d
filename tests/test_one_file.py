"""A repair, a profile, a format, a finding and an export are one file and one case file each, as CONTRIBUTING.md says.

The five examples under `one_file/` are copied into a copy of this tree, all at once, and there their cases are run, and
what the tests of each room ask of every plugin by its name.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "tests" / "one_file"
PARTS = (
    "webapp",
    "fencepost.py",
    "templates",
    "static",
    "tests",
    "docs",
    "examples",
    "migrations",
    "pyproject.toml",
)
ASKED = (
    *("parsing/test_cases.py", "parsing/test_promises.py", "parsing/test_patterns.py", "parsing/test_nodes.py"),
    *("parsing/profiles/test_profile_cases.py", "parsing/profiles/test_hostile.py"),
    *("dumps/formats/test_format_cases.py", "findings/test_cases.py"),
    *("exports/test_export_cases.py", "exports/test_odd_numbers.py"),
)
"""what a room asks of each of its plugins"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the tree with the examples in it, beside the shared folder."""
    root = tmp_path / "fencepost"
    copy(root)
    return root


def names() -> list[str]:
    """What the examples are called, in their files and in the ids of tests."""
    return sorted({path.stem for path in EXAMPLES.rglob("*") if path.is_file()})


def copy(root: Path) -> None:
    """Compiled modules come along: each names the size and the time of its source, which copies keep."""
    root.mkdir(parents=True)
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, root / part, ignore=shutil.ignore_patterns("one_file", "browser"))
        else:
            shutil.copy2(ROOT / part, root / part)
    for example in sorted(EXAMPLES.iterdir()):
        shutil.copytree(example, root, dirs_exist_ok=True)
    if (ROOT.parent / "shared").is_dir():
        (root.parent / "shared").symlink_to(ROOT.parent / "shared")


@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.iterdir()))
def test_an_example_is_one_file_and_one_case_file_that_are_new(example: str) -> None:
    files = [path.relative_to(EXAMPLES / example) for path in (EXAMPLES / example).rglob("*") if path.is_file()]
    assert sorted(path.parts[0] for path in files) == ["tests", "webapp"]
    assert not any((ROOT / path).exists() for path in files)
    assert (EXAMPLES / example / files[0]).read_text()


def test_the_tests_of_the_rooms_pass_with_all_five(tree: Path) -> None:
    """In one process: to start one takes longer than most of the rooms. Time is held against one text of prose."""
    asked = [f"tests/{name}" for name in ASKED]
    chosen = " or ".join(["every_repair", "time_grows and prose", *names()])
    plugins = ["-p", "no:cacheprovider", "-p", "pytest_timeout"]
    command = [sys.executable, "-m", "pytest", "-x", "-v", *plugins, "-k", chosen, *asked]
    environ = {**os.environ, "PYTHONPATH": str(tree), "PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    run = subprocess.run(command, cwd=tree, env=environ, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-4000:]
    for example in sorted(EXAMPLES.iterdir()):
        (case_file,) = (example / "tests").rglob("*.md")
        cases = [line for line in run.stdout.splitlines() if case_file.stem in line and "test_case" in line]
        assert cases, f"no case of {case_file.name} was run"


def test_contributing_names_each_example_where_it_would_stand() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    for path in (path.relative_to(ROOT) for path in EXAMPLES.rglob("*") if path.is_file()):
        place = Path(*path.parts[3:])
        assert f"[`{place}`]({path})" in page
