"""FENCEPOST_POOL: how many connections to PostgreSQL stay open, counted by the server itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.store.conftest import SERVER
from tests.until import until
from webapp.app import create_app
from webapp.config import BadSetting, Settings
from webapp.extensions import db
from webapp.store.db import database

POSTGRES = "postgresql+psycopg://fencepost@db/fencepost"


@contextmanager
def held(engine: sa.Engine, count: int) -> Iterator[None]:
    """That many connections at once."""
    with ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(engine.connect())
        yield


def counted(name: str, mark: str) -> int:
    """The connections of the application `mark` that the server has to the database."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = :name AND application_name = :mark"
    engine = sa.create_engine(f"{SERVER}/postgres")
    try:
        with engine.connect() as connection:
            return connection.execute(sa.text(query), {"name": name, "mark": mark}).scalar_one()
    finally:
        engine.dispose()


@pytest.mark.postgres
@pytest.mark.parametrize(("pool", "stay"), [(None, database.POOLED), (1, 1), (20, 20)])
def test_so_many_connections_stay_open(postgres: str, pool: int | None, stay: int) -> None:
    mark = f"pool-of-{pool}"
    engine = database.connect(f"{SERVER}/{postgres}?application_name={mark}", pool=pool)
    try:
        with held(engine, stay + database.MORE):
            assert counted(postgres, mark) == stay + database.MORE
        until(lambda: counted(postgres, mark) <= stay)  # PostgreSQL ends a process for each that was closed
        assert counted(postgres, mark) == stay
    finally:
        engine.dispose()


@pytest.mark.postgres
def test_the_server_has_the_pool_that_is_set(postgres: str, tmp_path: Path) -> None:
    environ = {
        "FENCEPOST_DATA": str(tmp_path),
        "FENCEPOST_DATABASE": f"{SERVER}/{postgres}?application_name=app",
        "FENCEPOST_POOL": "3",
    }
    app = create_app(Settings.from_environment(environ))
    with app.app_context():
        try:
            with held(db.engine, 3 + database.MORE):
                pass
            until(lambda: counted(postgres, "app") <= 3)
            assert counted(postgres, "app") == 3
        finally:
            db.engine.dispose()


@pytest.mark.parametrize("said", ["0", "201", "-1", "1.5", "five", "٣", "9" * 5000])
def test_what_is_no_size_is_refused(said: str) -> None:
    with pytest.raises(BadSetting, match="FENCEPOST_POOL must be a whole number from 1 to 200, not"):
        Settings.from_environment({"FENCEPOST_DATABASE": POSTGRES, "FENCEPOST_POOL": said})


def test_on_sqlite_it_is_refused_rather_than_passed_over() -> None:
    with pytest.raises(BadSetting, match="FENCEPOST_POOL needs FENCEPOST_DATABASE on PostgreSQL"):
        Settings.from_environment({"FENCEPOST_POOL": "5"})


def test_a_process_of_ours_gets_it_too() -> None:
    environ = {"FENCEPOST_DATABASE": POSTGRES, "FENCEPOST_POOL": "200"}
    assert Settings.from_environment(Settings.from_environment(environ).environment()).pool == 200
    assert "FENCEPOST_POOL" not in Settings.from_environment({}).environment()
