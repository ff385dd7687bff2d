"""A backup is whole while others write, and none of what is damaged; `tests/commands/test_db.py` serves one."""

from __future__ import annotations

import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from webapp.store.db import database
from webapp.store.jobs import database_copy


@pytest.fixture
def engine(tmp_path: Path, migrated: Path) -> sa.Engine:
    file = tmp_path / "stored.sqlite3"
    file.write_bytes(migrated.read_bytes())
    return database.connect(f"sqlite:///{file}")


def test_a_copy_made_while_somebody_writes_is_whole(engine: sa.Engine, tmp_path: Path) -> None:
    ends = threading.Event()
    with database.writing(engine) as connection:
        connection.execute(sa.text("CREATE TABLE pair (a INTEGER, b INTEGER, filler BLOB)"))

    def write() -> None:
        number = 0
        while not ends.is_set():
            number += 1
            with database.writing(engine) as connection:
                row = {"n": number, "filler": b"x" * 20_000}
                connection.execute(sa.text("INSERT INTO pair VALUES (:n, :n, :filler)"), row)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        sizes = [database_copy.back_up(engine, tmp_path / f"copy-{number}") for number in range(3)]
    finally:
        ends.set()
        writer.join()
    for number, size in enumerate(sizes):
        path = tmp_path / f"copy-{number}"
        assert path.stat().st_size == size and stat.S_IMODE(path.stat().st_mode) == 0o600
        with closing(sqlite3.connect(path)) as copied:
            (last, count, wrong) = copied.execute("SELECT max(a), count(*), sum(a != b) FROM pair").fetchone()
            assert (last or 0) == count and not wrong
    assert sorted(path.name for path in tmp_path.glob("copy*")) == ["copy-0", "copy-1", "copy-2"]


def test_a_damaged_database_gives_no_copy(engine: sa.Engine, tmp_path: Path) -> None:
    path = Path(str(engine.url.database))
    engine.dispose()
    content = bytearray(path.read_bytes())
    content[8192 * 2 : 8192 * 6] = b"\xff" * 8192 * 4
    path.write_bytes(content)
    with pytest.raises(database_copy.BadCopy):
        database_copy.back_up(engine, tmp_path / "copy")
    assert not list(tmp_path.glob("copy*"))


def test_of_a_server_another_program_makes_it(tmp_path: Path) -> None:
    with pytest.raises(database_copy.NotSqlite, match="pg_dump"):
        database_copy.back_up(sa.create_engine("sqlite://"), tmp_path / "copy")
