"""Fixtures that every test may use."""

from __future__ import annotations

import gc
import ipaddress
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import sqlalchemy as sa
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.util import LRUCache

from tests.store.db import first_tables
from tests.unhurried import be_unhurried
from webapp.store.db import database

pytest_plugins = ["tests.machine_home"]

ROOT = Path(__file__).resolve().parents[1]

# No test goes by the clock: on a busy machine examples come slowly, and that says nothing of what is tested.
hypothesis.settings.register_profile("untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("untimed")


WRITING = ("server_version_info", "paramstyle", "max_identifier_length", "label_length", "_json_serializer")
"""of a dialect: what the SQL that it writes, and the values it makes of rows, depend on"""

LONG = "test_labels_by_keyboard_alone"
"""begun late, it goes on where the other workers have nothing left: it comes first of the browser tests"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests come last: Playwright keeps an event loop in this thread, where Flask's test client cannot run."""
    items.sort(key=lambda item: (item.get_closest_marker("browser") is not None, not item.name.startswith(LONG)))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[Any]:
    """What is collected lives to the end: looking through it again and again took a quarter of collecting it, and half
    the time of some tests."""
    gc.disable()
    found = yield
    gc.collect()
    gc.freeze()
    gc.enable()
    return found


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder beside the checkout; a fork does not have it, so that a test without it is skipped, under CI too."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("needs ../shared (reports, cases, corpus) beside the checkout")
    return folder


@pytest.fixture(scope="session")
def revisions() -> None:
    """Ends the run with one sentence where the revisions are wrong, not with a failure of each test of a database."""
    if (wrong := first_tables.complaint()) is not None:
        pytest.exit(wrong, returncode=1)


@pytest.fixture(scope="session")
def migrated(revisions: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite database without rows, for tests to copy: that takes a hundredth of migrating another."""
    path = tmp_path_factory.mktemp("migrated") / "fencepost.sqlite3"
    engine = database.connect(f"sqlite:///{path}")
    database.migrate(engine)
    engine.dispose()
    return path


@pytest.fixture(autouse=True, scope="session")
def unhurried() -> None:
    be_unhurried()


@pytest.fixture(autouse=True, scope="session")
def compiled_once() -> Iterator[None]:
    """A statement is compiled once for each kind of database, not again for each test's engine."""
    compiled: LRUCache[Any, Any] = LRUCache(1000)
    make_engine = sa.Engine.__init__

    def sharing(self: sa.Engine, *arguments: Any, **options: Any) -> None:
        make_engine(self, *arguments, **options)
        self.update_execution_options(compiled_cache=compiled)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sa.Engine, "__init__", sharing)
        patch.setattr(DefaultDialect, "__eq__", alike)
        patch.setattr(DefaultDialect, "__hash__", lambda self: hash(type(self)))
        yield


def alike(one: DefaultDialect, other: object) -> bool:
    """Whether both write the same SQL: two engines for servers of one version, made with the same options."""
    return type(one) is type(other) and all(getattr(one, name) == getattr(other, name) for name in WRITING)


@pytest.fixture(autouse=True, scope="session")
def loopback_only() -> Iterator[None]:
    """Sockets are closed, except to this machine: a test that asks the network fails by name."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        host = address[0] if isinstance(address, tuple) else "localhost"
        if host != "localhost" and not ipaddress.ip_address(host.partition("%")[0]).is_loopback:
            raise AssertionError(f"a test tried to reach {host}")
        connect(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded)
        yield


@pytest.fixture(autouse=True)
def configured_parsers() -> Iterator[None]:
    """A parser that a command of this test configured is gone after it, and none comes from outside."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FENCEPOST_PROFILES", "")
        yield
