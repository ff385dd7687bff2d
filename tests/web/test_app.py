"""What every request costs, and gives back."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import orm

from tests.web import pages
from webapp.extensions import db


def test_a_request_starts_no_thread(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    client.get("/profiles")
    started: list[str] = []
    start = threading.Thread.start

    def counted(self: threading.Thread) -> None:
        started.append(self.name)
        start(self)

    monkeypatch.setattr(threading.Thread, "start", counted)
    assert client.get("/profiles").status_code == 200
    assert started == []


@pytest.mark.parametrize(
    "path",
    ["/api/session/s/dump", "/api/session/s/export", "/api/sessions/dumps?ids=s", "/api/labels/export?format=jsonl"],
)
def test_a_download_gives_its_connection_back(
    app: Flask, client: FlaskClient, post: Callable[..., object], path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where something still holds the session that it read with, as a cycle does until it is collected."""
    post(pages.SESSION)
    held: list[orm.Session] = []
    begin = orm.Session.__init__

    def remembered(self: orm.Session, *args: Any, **options: Any) -> None:
        begin(self, *args, **options)
        held.append(self)

    monkeypatch.setattr(orm.Session, "__init__", remembered)
    answers = [client.get(path, buffered=True) for _ in range(2)]
    client.get(path).close()
    assert [answer.status_code for answer in answers] == [200, 200]
    assert held
    with app.app_context():
        assert db.engine.pool.checkedout() == 0  # type: ignore[attr-defined]


UNNEEDED = ("alembic", "markdown_it", "yaml", "jsonschema", "jsonschema_rs", "webapp.client")
START = f"""
import sys
from webapp.app import create_app
from webapp.config import Settings
print([name for name in {UNNEEDED} if name in sys.modules])
create_app(Settings.from_environment())
print("webapp.parsing.profiles.langchain" in sys.modules)
"""


def test_a_start_imports_nothing_that_only_pages_need_and_no_profile_where_every_parser_is_known(
    tmp_path: Path,
) -> None:
    environ = {**os.environ, "FENCEPOST_DATA": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", START], capture_output=True, text=True, check=True, env=environ)
    assert done.stdout.splitlines() == ["[]", "False"]
