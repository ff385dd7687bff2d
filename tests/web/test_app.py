"""What every request costs."""

from __future__ import annotations

import threading

import pytest
from flask.testing import FlaskClient


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
