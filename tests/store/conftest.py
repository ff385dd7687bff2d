"""Databases for the store's tests: SQLite in a file, and a PostgreSQL database of the test's own."""

from __future__ import annotations

import io
import itertools
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.made import Bring, BringRecords
from webapp import jsontext
from webapp.config import Settings
from webapp.dumps.records import Record
from webapp.store.db import database
from webapp.store.ingest.start import IngestResult, ingest
from webapp.store.models import Base

SERVER = "postgresql+psycopg://root@127.0.0.1:5432"
_numbers = itertools.count()


def administer(*statements: str) -> None:
    engine = sa.create_engine(f"{SERVER}/postgres", isolation_level="AUTOCOMMIT", connect_args={"connect_timeout": 30})
    try:
        with engine.connect() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)
    finally:
        engine.dispose()


@pytest.fixture(scope="session")
def postgres(revisions: None) -> Iterator[str]:
    """The name of a migrated database of this run; skipped where no server answers, failing then under CI."""
    with on_server(f"fencepost_test_{os.getpid()}_{uuid.uuid4().hex[:8]}") as name:
        yield name


@pytest.fixture(scope="session")
def template(postgres: str) -> Iterator[str]:
    """The name of another one, to which nothing connects, so that the server can copy it."""
    with on_server(f"{postgres}_template") as name:
        yield name


@contextmanager
def on_server(name: str) -> Iterator[str]:
    """A migrated database of this name."""
    try:
        administer(f"CREATE DATABASE {name}")
    except sa.exc.OperationalError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no PostgreSQL on 127.0.0.1 under CI: {error}")
        pytest.skip("needs a PostgreSQL server on 127.0.0.1:5432 (user root, trusted)")
    engine = database.connect(f"{SERVER}/{name}")
    try:
        database.migrate(engine)
        engine.dispose()
        yield name
    finally:
        engine.dispose()
        administer(f"DROP DATABASE {name} WITH (FORCE)")


BOTH = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


@pytest.fixture(params=BOTH)
def url(request: pytest.FixtureRequest, tmp_path: Path, migrated: Path) -> str:
    """The URL of a migrated database without rows: each test runs on both."""
    if request.param == "sqlite":
        return f"sqlite:///{shutil.copyfile(migrated, tmp_path / 'store.sqlite3')}"
    return f"{SERVER}/{request.getfixturevalue('postgres')}"


@pytest.fixture
def engine(url: str) -> Iterator[sa.Engine]:
    engine = database.connect(url)
    yield engine
    if engine.dialect.name == "postgresql":
        clear(engine)
    engine.dispose()


def clear(engine: sa.Engine) -> None:
    """Delete every row, for the next test: in one trip to the server."""
    tables = ["search_raw", "search_note", *(table.name for table in reversed(Base.metadata.sorted_tables))]
    statements = "; ".join(f"DELETE FROM {name}" for name in tables)
    with engine.begin() as connection:
        connection.execution_options(no_parameters=True).exec_driver_sql(statements)


@pytest.fixture(params=BOTH)
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[sa.Engine]:
    """A database of the test's own without any tables."""
    if request.param == "sqlite":
        with connected(f"sqlite:///{tmp_path / 'blank.sqlite3'}") as engine:
            yield engine
    else:
        with copied(request.getfixturevalue("postgres"), "template1") as engine:
            yield engine


@pytest.fixture(params=BOTH)
def blank(request: pytest.FixtureRequest, tmp_path: Path, migrated: Path) -> Iterator[sa.Engine]:
    """A migrated database of the test's own, whose schema it may change."""
    if request.param == "sqlite":
        with connected(f"sqlite:///{shutil.copyfile(migrated, tmp_path / 'blank.sqlite3')}") as engine:
            yield engine
    else:
        with copied(request.getfixturevalue("postgres"), request.getfixturevalue("template")) as engine:
            yield engine


@contextmanager
def connected(url: str) -> Iterator[sa.Engine]:
    engine = database.connect(url)
    yield engine
    engine.dispose()


@contextmanager
def copied(prefix: str, template: str) -> Iterator[sa.Engine]:
    """A copy of a database of the server, which is dropped in the end."""
    name = f"{prefix}_{next(_numbers)}"
    administer(f"CREATE DATABASE {name} TEMPLATE {template}")
    with connected(f"{SERVER}/{name}") as engine:
        yield engine
    administer(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def settings(url: str, tmp_path: Path) -> Settings:
    return Settings(data=tmp_path / "data", database=url, home="direct")


@pytest.fixture
def db(engine: sa.Engine) -> Iterator[orm.Session]:
    with orm.Session(engine) as session:
        yield session


@pytest.fixture
def bring(engine: sa.Engine, settings: Settings) -> Bring:
    """Ingest a document (written as JSON), bytes, or a text."""

    def bring(document: Any, filename: str = "dump.json", **options: Any) -> IngestResult:
        data = document if isinstance(document, bytes) else jsontext.dumps(document).encode()
        return ingest(engine, settings, io.BytesIO(data), filename=filename, **options)

    return bring


@pytest.fixture
def bring_records(bring: Bring, monkeypatch: pytest.MonkeyPatch) -> BringRecords:
    """Ingest records as if a format had read them; `end` is raised behind them."""

    def bring_records(*records: Record, end: Exception | None = None, name: str = "", **options: Any) -> IngestResult:
        def read(*_: object, **__: object) -> Iterator[Record]:
            yield from records
            if end is not None:
                raise end

        with monkeypatch.context() as patch:
            patch.setattr("webapp.dumps.reading.read", read)
            patch.setattr("webapp.dumps.reading.sniff", lambda *_: "made-up")
            return bring((name + repr((records, end))).encode("utf-8", "surrogatepass"), **options)

    return bring_records
