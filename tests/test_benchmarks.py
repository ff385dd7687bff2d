"""The benchmarks that no other test runs still run, over a few turns."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from benchmarks import generated, memory_limit, short_writes
from webapp.store.db import database
from webapp.store.models import Turn


def test_a_database_of_made_sessions_is_filled(tmp_path: Path) -> None:
    settings = generated.database_of(tmp_path, 60)
    engine = database.connect(settings.database)
    with engine.connect() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(Turn)) == 60
    engine.dispose()


def test_the_kernel_holds_a_group_to_its_limit() -> None:
    try:
        group = memory_limit.Group(64)
    except OSError as error:
        pytest.skip(f"no cgroup can be made here: {error}")
    try:
        python = [sys.executable, "-c", "import sys; kept = b'x' * (int(sys.argv[1]) << 20)"]
        command = ["sh", "-c", memory_limit.IN_GROUP, str(group.path), *python]
        assert subprocess.run([*command, "8"], check=False).returncode == 0 and group.kills() == 0
        assert subprocess.run([*command, "128"], check=False).returncode == -signal.SIGKILL and group.kills() == 1
    finally:
        group.remove()
    assert not group.path.exists()


def test_short_writes_are_measured(tmp_path: Path) -> None:
    figures = short_writes.measured(tmp_path, 1)
    assert figures["at_rest_ms"]["writes"] == 20 and figures["during_ms"]["writes"] > 0
