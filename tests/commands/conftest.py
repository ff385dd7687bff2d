"""A data folder with a migrated database in it, for commands that are not about the database itself."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.commands.stored import Run, runner


@pytest.fixture
def data(tmp_path: Path, migrated: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    shutil.copyfile(migrated, folder / "fencepost.sqlite3")
    return folder


@pytest.fixture
def run(data: Path) -> Run:
    """Runs `fencepost` with this data folder."""
    return runner(data)
