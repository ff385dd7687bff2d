"""The app as gunicorn loads it, in a process of its own: it answers, and what looks after the database is there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import sqlalchemy as sa

from webapp.config import Settings
from webapp.store.db import database
from webapp.store.ingest.start import ingest
from webapp.store.models import Session
from webapp.store.sessions import deletion

PROGRAM = """
import json, tempfile, time
from webapp.extensions import db
from webapp.store.models import Session
from webapp.wsgi import app
import sqlalchemy as sa

answer = app.test_client().get("/")
until = time.monotonic() + 120
count = lambda: db.session.scalar(sa.select(sa.func.count()).select_from(Session))
with app.app_context():
    while (there := count()) > 1 and time.monotonic() < until:
        db.session.rollback()
        time.sleep(0.05)
print(json.dumps({"status": answer.status_code, "there": there, "temporary": tempfile.gettempdir()}))
"""


def test_it_answers_and_removes_what_was_deleted_long_ago(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, database=f"sqlite:///{tmp_path / 'f.sqlite3'}")
    engine = database.connect(settings.database)
    database.migrate(engine)
    for name in ("a", "b"):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps([{"role": "user", "content": name}]))
        with path.open("rb") as stream:
            ingest(engine, settings, stream, filename=path.name)
    long_ago = datetime.now(UTC) - 2 * deletion.UNDONE_FOR - timedelta(seconds=1)
    with engine.begin() as connection:
        connection.execute(sa.update(Session).where(Session.external_id == "a").values(deleted_at=long_ago))
    engine.dispose()
    environ = {**os.environ, **settings.environment()}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environ, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert (found["status"], found["there"]) == (200, 1)
    assert Path(found["temporary"]).is_relative_to(tmp_path)


def test_gunicorn_ends_with_the_setting_that_keeps_it_from_starting(tmp_path: Path) -> None:
    """And does not start its workers again and again."""
    done = gunicorn(tmp_path, 1, FENCEPOST_DATABASE="sqlite:////dev/null/f.sqlite3")
    assert done.returncode == 4
    assert "cannot make the database's folder" in done.stderr
    assert "Traceback" not in done.stderr


def test_gunicorn_ends_with_several_workers_too(tmp_path: Path) -> None:
    """Where two end at once, gunicorn 27 adds a traceback of its own to the sentence, and exits with 1."""
    done = gunicorn(tmp_path, 2, FENCEPOST_ROLE="cook")
    assert done.returncode in (1, 4)
    assert "FENCEPOST_ROLE" in done.stderr


def gunicorn(data: Path, workers: int, **setting: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gunicorn", "--workers", str(workers), "--threads", "4", "--bind", "127.0.0.1:0"]
    environ = {**os.environ, "FENCEPOST_DATA": str(data), **setting}
    return subprocess.run([*command, "webapp.wsgi:app"], env=environ, capture_output=True, text=True, timeout=120)
