"""The lock on a dump: one process at a time, on PostgreSQL whatever its data folder; SQLite's is left now and then."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa

from webapp.config import Settings
from webapp.store.db import database, locks

SHA = "0" * 64
HOLD = """
import sys
from pathlib import Path
from webapp.config import Settings
from webapp.store.db import database
from webapp.store.db import locks
settings = Settings(data=Path(sys.argv[1]), database=sys.argv[2])
with locks.wait_for(database.connect(settings.database), settings.data, sys.argv[3]):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_one_at_a_time_holds_a_dump(engine: sa.Engine, settings: Settings, tmp_path: Path) -> None:
    inside, most = 0, 0
    guard = threading.Lock()

    def hold(_: int) -> None:
        nonlocal inside, most
        for _ in range(10):
            with locks.wait_for(engine, settings.data, SHA):
                with guard:
                    inside += 1
                    most = max(most, inside)
                with guard:
                    inside -= 1

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(hold, range(4)))
    assert most == 1
    assert list(tmp_path.rglob("*.lock")) == []


def test_two_dumps_are_held_at_once(engine: sa.Engine, settings: Settings) -> None:
    with locks.wait_for(engine, settings.data, SHA), locks.hold(engine, settings.data, "1" * 64) as is_mine:
        assert is_mine


def test_who_waits_may_give_up(engine: sa.Engine, settings: Settings) -> None:
    class GivesUp(Exception):
        pass

    def give_up() -> None:
        raise GivesUp

    with (
        locks.wait_for(engine, settings.data, SHA),
        pytest.raises(GivesUp),
        locks.wait_for(engine, settings.data, SHA, give_up),
    ):
        pass


def test_a_killed_process_of_another_machine_lets_go(engine: sa.Engine, settings: Settings, tmp_path: Path) -> None:
    elsewhere = dataclasses.replace(settings, data=tmp_path / "elsewhere")
    there = elsewhere if engine.dialect.name == "postgresql" else settings
    command = [sys.executable, "-c", HOLD, str(there.data), settings.database, SHA]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"held\n"
        with locks.hold(engine, settings.data, SHA) as is_mine:
            assert not is_mine
        process.kill()
        process.wait()
    with locks.wait_for(engine, settings.data, SHA):
        pass


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
