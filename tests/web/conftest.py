"""An app over a fresh data folder, and a way to put dumps into it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.unhurried import be_unhurried
from webapp.app import create_app
from webapp.config import Settings
from webapp.extensions import db


@pytest.fixture(autouse=True, scope="session")
def unhurried() -> None:
    be_unhurried()


@pytest.fixture
def make(tmp_path: Path, migrated: Path) -> Iterator[Callable[..., Flask]]:
    """Makes apps over this test's data folder, with changed settings; parsers that nobody names are `fencepost`."""
    made = []
    file = shutil.copyfile(migrated, tmp_path / "fencepost.sqlite3")

    def app_with(**changes: Any) -> Flask:
        given = {"data": tmp_path, "database": f"sqlite:///{file}", "home": "fencepost"} | changes
        made.append(create_app(Settings(**given)))
        return made[-1]

    yield app_with
    for app in made:
        with app.app_context():
            db.engine.dispose()


@pytest.fixture
def app(make: Callable[..., Flask]) -> Flask:
    return make()


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


@pytest.fixture
def post(client: FlaskClient) -> Callable[..., Any]:
    """Ingest bytes through the API; returns the response."""

    def send(body: bytes, filename: str = "dump.json", **query: str) -> Any:
        return client.post("/api/dumps", query_string={"filename": filename} | query, data=body)

    return send
