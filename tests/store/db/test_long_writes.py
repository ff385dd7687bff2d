"""Transactions in a row leave SQLite's write lock to others now and then."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest
import sqlalchemy as sa

from webapp.store.db import database


def test_who_waits_gets_the_lock_between_transactions_in_a_row(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "LONGEST_HELD", 0.0)
    monkeypatch.setattr(database, "REST", 60.0)
    engine = database.connect(f"sqlite:///{shutil.copyfile(migrated, tmp_path / 'store.sqlite3')}")
    rests = threading.Event()
    monkeypatch.setattr(database.time, "sleep", lambda seconds: rests.set() if seconds == database.REST else None)
    with database.writing_long(engine) as connection:
        connection.execute(sa.text("UPDATE database_secret SET value = value"))
        assert not rests.is_set()
    assert rests.is_set()
    with database.writing(engine) as connection:
        connection.execute(sa.text("UPDATE database_secret SET value = value"))
    engine.dispose()
