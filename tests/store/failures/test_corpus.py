"""Failure groups of the real dumps: a recount of all of them agrees, under home and under other profiles."""

from __future__ import annotations

import io
import json
from pathlib import Path

from sqlalchemy import orm

from tests.store.failures.recount import check, recount
from webapp.config import Settings
from webapp.store.db import database
from webapp.store.ingest.start import ingest
from webapp.store.jobs import replays

MOST_BYTES = 600_000


def test_real_dumps(shared: Path, tmp_path: Path, migrated: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.sqlite3'}"
    (tmp_path / "store.sqlite3").write_bytes(migrated.read_bytes())
    engine, settings = database.connect(url), Settings(data=tmp_path / "data", database=url, home="direct")
    for path in sorted((shared / "corpus").rglob("*")):
        if path.is_file() and path.stat().st_size < MOST_BYTES and path.suffix in (".json", ".jsonl", ".eval"):
            data = as_responses(path) if path.parent.name == "jsontestsuite" else path.read_bytes()
            ingest(engine, settings, io.BytesIO(data), filename=path.name)
    with orm.Session(engine) as db:
        assert check(db, anew=True) > 50
        assert len(recount(db)) < 60
    replays.replay(engine, settings, "json-repair", processes=1)
    with orm.Session(engine) as db:
        check(db, "json-repair", anew=True)
        check(db, "direct")
        assert check(db, "fencepost") < check(db, "direct")
    engine.dispose()


def as_responses(path: Path) -> bytes:
    """A file of texts as a recording of responses."""
    texts = [json.loads(line)["input"] for line in path.read_text().splitlines()]
    about = {"session_id": "suite", "kind": "response"}
    return "".join(json.dumps(about | {"text": text}) + "\n" for text in texts if isinstance(text, str)).encode()
