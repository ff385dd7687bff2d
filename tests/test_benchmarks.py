"""The benchmarks that no other test runs still run, over a few turns."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from benchmarks import generated, growing
from webapp.store.db import database
from webapp.store.models import Turn


def test_a_database_of_made_sessions_is_filled(tmp_path: Path) -> None:
    settings = generated.database_of(tmp_path, 60)
    engine = database.connect(settings.database)
    with engine.connect() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(Turn)) == 60
    engine.dispose()


def test_a_log_that_grows_is_measured(tmp_path: Path) -> None:
    figures = growing.measured(tmp_path, 20, 1)
    assert figures["turns"] == 2 * 22 and {"whole", "first_growth", "later_growth"} < set(figures)
