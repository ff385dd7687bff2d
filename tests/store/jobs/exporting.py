"""What tests of exports share: sessions with hostile ids, an export asked for, and its file."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.made import BROKEN, CALL, Bring, entry, windlass
from webapp import jsontext
from webapp.config import Settings
from webapp.store import tasks
from webapp.store.files import file_store
from webapp.store.jobs import export_jobs, worker
from webapp.store.models import Session, Task
from webapp.store.sessions.filters import Filters

HOSTILE = ("../../etc/passwd", "CON", "a\0b", "\ud800", "A", "a", "x" * 300, ".hidden", "C:\\x", "é/ü", "", "s|rm -rf")


def of_keys(keys: list[str]) -> dict[str, Any]:
    return {"keys": keys}


def of_filters(filters: Filters) -> dict[str, Any]:
    return {"filters": filters.active()}


def bring_hostile(bring: Bring) -> None:
    """A session of each id, of which every second one has a failed response, and each its own length.

    They are one log, but for the one without an id, which no line of a log can have.
    """
    lines = []
    for number, name in enumerate(HOSTILE):
        texts = [CALL] * number + [BROKEN if number % 2 else CALL]
        entries = [entry(text, model=f"m{number % 3}") for text in texts]
        if name:
            lines += [jsontext.dumps(one | {"session_id": name}) for one in entries]
        else:
            bring(windlass(name, entries))
    bring("\n".join(lines).encode(), filename="hostile.jsonl")


def key(db: orm.Session, external_id: str) -> str:
    return db.scalars(sa.select(Session.key).where(Session.external_id == external_id)).one()


def find(engine: sa.Engine, number: int) -> Task:
    with engine.connect() as connection:
        return tasks.find(connection, number, tasks.EXPORT)


def exported(engine: sa.Engine, settings: Settings, selection: dict[str, Any]) -> Task:
    """The job of an export that a worker has ended."""
    number = tasks.make(engine, tasks.EXPORT, selection)
    worker.work(engine, settings)
    return find(engine, number)


def content(settings: Settings, job: Task) -> bytes:
    with export_jobs.opened(settings, job) as file:
        return file.read()


def names(data: bytes) -> list[str]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        return archive.namelist()


def files(settings: Settings) -> list[str]:
    """The files of exports, and drafts of such."""
    incoming = settings.data / "dumps" / "incoming"
    drafts = [path.name for path in incoming.glob("export-*")] if incoming.is_dir() else []
    return sorted([file.name for file in file_store(settings).files(export_jobs.FOLDER)] + drafts)
