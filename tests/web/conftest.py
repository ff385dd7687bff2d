"""An app over a fresh data folder, and a way to put dumps into it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from webapp.app import create_app
from webapp.config import Settings
from webapp.extensions import db
from webapp.store.jobs import worker
from webapp.web.worker_process import WorkerSupervisor, of


@pytest.fixture(autouse=True)
def no_worker(request: pytest.FixtureRequest) -> Iterator[None]:
    """No server starts a worker, which takes seconds, but in tests that ask for `worker_process`."""
    with pytest.MonkeyPatch.context() as patch:
        if "worker_process" not in request.fixturenames:
            patch.setattr(WorkerSupervisor, "wake", lambda _: None)
        yield


@pytest.fixture
def worker_process(app: Flask) -> Iterator[None]:
    """What requests leave to the worker is done by one, in a process of its own, that ends with the test."""
    yield
    of(app).close()


@pytest.fixture
def work(app: Flask) -> Callable[[], None]:
    """Does here, without a process, what requests left to the worker."""

    def work() -> None:
        with app.app_context():
            worker.work(db.engine, app.config["SETTINGS"])

    return work


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
