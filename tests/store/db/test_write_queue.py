"""Who waits for SQLite's write lock says so, and who writes for long lets them in."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db import database, write_queue
from webapp.store.models import DatabaseSecret

PATIENCE = 60.0


@pytest.fixture
def sqlite(tmp_path: Path, migrated: Path) -> Iterator[sa.Engine]:
    engine = database.connect(f"sqlite:///{shutil.copyfile(migrated, tmp_path / 'store.sqlite3')}")
    yield engine
    engine.dispose()


@contextmanager
def waiting(write: Callable[[], object]) -> Iterator[threading.Thread]:
    """`write` goes on in a thread, which this ends with."""
    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield thread
    finally:
        thread.join(PATIENCE)
        assert not thread.is_alive()


def is_awaited(engine: sa.Engine) -> bool:
    folder = write_queue._folder(engine)
    return folder is not None and write_queue._is_awaited(folder) is True


def becomes_awaited(engine: sa.Engine, seconds: float = PATIENCE) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if is_awaited(engine):
            return True
        time.sleep(0.005)
    return False


def add(db: orm.Session) -> None:
    db.add(DatabaseSecret(name="one", value=b"1"))
    db.commit()


def by_begin(engine: sa.Engine) -> None:
    with database.writing(engine) as connection:
        connection.exec_driver_sql("DELETE FROM database_secret")


def by_statement(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        connection.execute(sa.insert(DatabaseSecret), {"name": "two", "value": b"2"})


def by_many(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        connection.execute(sa.insert(DatabaseSecret), [{"name": name, "value": b""} for name in "abc"])


def by_orm(engine: sa.Engine) -> None:
    with orm.Session(engine) as db:
        add(db)


@pytest.mark.parametrize("write", [by_begin, by_statement, by_many, by_orm])
def test_whoever_waits_is_seen_until_it_has_the_lock(sqlite: sa.Engine, write: Callable[[sa.Engine], None]) -> None:
    with database.writing(sqlite):
        assert not is_awaited(sqlite)
        holder = waiting(lambda: write(sqlite))
        holder.__enter__()
        assert becomes_awaited(sqlite)
    holder.__exit__(None, None, None)
    assert not is_awaited(sqlite)


def test_nobody_rests_for_a_long_writer_that_waits(sqlite: sa.Engine) -> None:
    def write() -> None:
        with database.writing_long(sqlite):
            pass

    with database.writing(sqlite):
        holder = waiting(write)
        thread = holder.__enter__()
        assert not becomes_awaited(sqlite, 0.3) and thread.is_alive()
    holder.__exit__(None, None, None)


def test_a_long_writer_lets_in_who_waits(sqlite: sa.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_queue, "LONGEST_REST", PATIENCE)
    with database.writing_long(sqlite):
        holder = waiting(lambda: by_orm(sqlite))
        holder.__enter__()
        assert becomes_awaited(sqlite)
    assert not is_awaited(sqlite)  # it rested until the other had its turn
    holder.__exit__(None, None, None)
    with sqlite.connect() as connection:
        assert connection.scalar(sa.select(DatabaseSecret.value)) == b"1"


def test_what_fails_while_it_waits_is_no_longer_seen(sqlite: sa.Engine) -> None:
    failing = database.options(sqlite.url.render_as_string())
    failing["connect_args"]["timeout"] = 0.1
    engine = database.prepare(sa.create_engine(failing.pop("url"), **failing))
    with database.writing(sqlite), pytest.raises(sa.exc.OperationalError, match="locked"):
        by_begin(engine)
    engine.dispose()
    assert not is_awaited(sqlite)


def test_in_memory_and_on_other_databases_nobody_waits() -> None:
    engine = sa.create_engine("sqlite://")
    write_queue.announce(engine)
    assert not is_awaited(engine)
    write_queue.let_in(engine)
