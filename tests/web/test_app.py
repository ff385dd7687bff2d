"""What every request costs, and gives back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import orm

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


SESSION = b'{"session_id": "s", "entries": [{"node_type": "agent", "role": "assistant", "content": "{}"}]}'


@pytest.mark.parametrize(
    "path",
    ["/api/session/s/dump", "/api/session/s/export", "/api/sessions/dumps?ids=s", "/api/labels/export?format=jsonl"],
)
def test_a_download_gives_its_connection_back(
    app: Flask, client: FlaskClient, post: Callable[..., object], path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where something still holds the session that it read with, as a cycle does until it is collected."""
    post(SESSION)
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
