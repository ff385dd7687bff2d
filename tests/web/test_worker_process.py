"""The worker behind a server's pages goes on though the database is away for a while."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from flask.testing import FlaskClient

from tests.web.test_dumps import ended
from webapp.web import worker_process as supervised


@pytest.fixture
def away(worker_process: None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The database refuses the next times that it is asked for work; who asked is noted."""
    asked: list[str] = []

    def refusing(name: str, times: int) -> Any:
        real = getattr(supervised, name)

        def ask(*about: Any) -> bool:
            asked.append(name)
            if asked.count(name) <= times:
                raise sa.exc.OperationalError("SELECT", {}, OSError("the server closed the connection"))
            return bool(real(*about))

        return ask

    for name, times in (("is_work_free", 1), ("is_work_left", 2)):
        monkeypatch.setattr(supervised, name, refusing(name, times))
    return asked


def test_a_database_that_restarts_does_not_end_the_watch_over_jobs(client: FlaskClient, away: list[str]) -> None:
    answer = client.post("/api/dumps?background=1&filename=a.json", data=b'{"session_id": "s", "entries": []}')
    assert answer.status_code == 202
    assert ended(client, 1)["state"] in ("done", "failed")
    assert away[0] == "is_work_free" and away.count("is_work_left") >= 3
