"""The app over PostgreSQL too, for tests whose answer comes out of the database: those marked with `both`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from flask import Flask

from tests.store.conftest import BOTH, SERVER, clear, postgres  # noqa: F401
from webapp.store.db import database

Make = Callable[..., Flask]
both = pytest.mark.parametrize("make", BOTH, indirect=True)


@pytest.fixture
def make(make: Make, request: pytest.FixtureRequest) -> Iterator[Make]:
    """As elsewhere, over SQLite; over PostgreSQL where a test is marked with `both`."""
    if getattr(request, "param", "sqlite") == "sqlite":
        yield make
        return
    url = f"{SERVER}/{request.getfixturevalue('postgres')}"
    engine = database.connect(url)
    yield lambda **changes: make(**({"database": url} | changes))
    clear(engine)
    engine.dispose()
