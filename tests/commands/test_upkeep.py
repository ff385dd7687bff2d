"""What a server does beside its requests goes on when it fails once."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import sqlalchemy as sa

from webapp import app
from webapp.config import Settings
from webapp.store.jobs import export_jobs
from webapp.store.sessions import deletion


def test_no_task_is_ended_by_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of another task, or of its own."""
    purged = threading.Barrier(2)
    tried: list[sa.Engine] = []

    def warm(*_: object) -> None:
        raise sa.exc.OperationalError("SELECT", {}, Exception("the database is locked"))

    def purge(engine: sa.Engine) -> None:
        tried.append(engine)
        if len(tried) == 1:
            raise sa.exc.InterfaceError("DELETE", {}, Exception("the connection is closed"))
        purged.wait(60)
        threading.Event().wait()  # not an exception: it could fall into the test after this one

    monkeypatch.setattr(app, "_EVERY", 0.01)
    monkeypatch.setattr(deletion, "purge", purge)
    monkeypatch.setattr(export_jobs, "purge", warm)
    app.start_upkeep(sa.create_engine("sqlite://"), Settings(data=tmp_path, database="sqlite://"), int)
    purged.wait(60)
    assert len(tried) == 2
