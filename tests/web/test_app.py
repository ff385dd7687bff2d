"""What every request costs, and gives back."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable

import pytest
from flask import Flask
from flask.testing import FlaskClient

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
    app: Flask, client: FlaskClient, post: Callable[..., object], path: str
) -> None:
    post(SESSION)
    gc.disable()
    try:
        answers = [client.get(path, buffered=True) for _ in range(2)]
        broken_off = client.get(path)
        broken_off.close()
    finally:
        gc.enable()
    assert [answer.status_code for answer in answers] == [200, 200]
    with app.app_context():
        assert db.engine.pool.checkedout() == 0  # type: ignore[attr-defined]
