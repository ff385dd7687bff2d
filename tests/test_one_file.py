"""A repair, a profile, a format, a finding and an export are one file and one case file each, as CONTRIBUTING.md says.

The five examples under `one_file/` are copied into a copy of this tree, all at once, and the tests of each room are run
there. Left out is only what made-up texts try on what was there before; of other made-up examples a tenth are tried.
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
ASKED = {
    "parsing": (
        *("test_cases.py", "test_promises.py", "test_patterns.py", "test_stored_trace.py"),
        *("profiles/test_profile_cases.py", "profiles/test_hostile.py"),
    ),
    "dumps": ("formats/test_format_cases.py", "test_guess.py", "test_reading.py"),
    "findings": ("test_cases.py", "test_runner.py", "test_sentences.py"),
    "exports": ("test_export_cases.py", "test_odd_numbers.py", "test_redaction.py", "test_secrets.py"),
}
"""what a room asks of each of its plugins, or all of its tests: others try what was there before"""
AS_BEFORE = ("test_hostile", "test_linear", "test_bad_input", "test_released")
"""Hostile input and released parsers take minutes, and new plugins change nothing for those that were there before."""
CHOSEN = f"not ({' or '.join(AS_BEFORE)}) or last-line or chatty or responses or any_text_keeps"


FEW = "few_examples"
"""the plugin of pytest, in the copy alone, by which Hypothesis makes a tenth of the examples there"""
FEW_EXAMPLES = """
from hypothesis import settings

def pytest_itemcollected(item):
    if hasattr(item.obj, "hypothesis"):
        whole = item.obj._hypothesis_internal_use_settings
        item.obj._hypothesis_internal_use_settings = settings(whole, max_examples=max(1, whole.max_examples // 10))
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the tree with the examples in it, beside the shared folder."""
    root = tmp_path / "fencepost"
    copy(root)
    (root / f"{FEW}.py").write_text(FEW_EXAMPLES)
    return root


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


@pytest.mark.timeout(1200)
def test_the_tests_of_the_rooms_pass_with_all_five(tree: Path) -> None:
    """In one process: to start one takes longer than most of the rooms."""
    asked = [f"tests/{room}/{name}" for room, names in ASKED.items() for name in names]
    plugins = ["-p", "no:cacheprovider", "-p", "pytest_timeout", "-p", FEW]
    command = [sys.executable, "-m", "pytest", "-x", "-v", *plugins, "-k", CHOSEN, *asked]
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
