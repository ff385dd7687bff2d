"""Removes old sessions for good, those with labels never, and the kept files of dumps that have none left."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.config import Settings
from webapp.store import tasks
from webapp.store.db.database import writing
from webapp.store.ingest import dump_files
from webapp.store.ingest.result import Stopped
from webapp.store.models import Dump, DumpSession, Session, Task
from webapp.store.sessions import deletion
from webapp.store.tasks import PRUNE
from webapp.store.write.rows import remove_unused_declarations
from webapp.store.write.tally import LETTERS, NOT_RUN

_AT_ONCE = 200
"""sessions that are hidden together before they are removed one by one"""
_has_labels = sa.or_(Session.label_count > 0, deletion.has_labels(Session.id))


def prunable(connection: sa.Connection, before: datetime, *, keep_failed: bool = False) -> sa.Row[Any]:
    """What a prune would remove of the sessions whose last turns came before that time: `sessions`, `turns` and
    `raw_bytes`; and how many of them stay: `labelled`, now or once, or `failed`."""
    goes, stays_failed = _goes(keep_failed=keep_failed), _stays_failed(keep_failed=keep_failed)
    sums = {"turns": sa.func.sum(Session.turn_count), "raw_bytes": sa.func.sum(Session.raw_bytes)}
    columns: tuple[sa.ColumnElement[Any], ...] = (
        sa.func.count().filter(goes).label("sessions"),
        *(sa.cast(sa.func.coalesce(total.filter(goes), 0), sa.BigInteger).label(name) for name, total in sums.items()),
        sa.func.count().filter(_has_labels).label("labelled"),
        sa.func.count().filter(stays_failed).label("failed"),
    )
    return connection.execute(sa.select(*columns).where(_old(before))).one()


class Pruned(NamedTuple):
    """What went: sessions, and kept files of dumps with their bytes on the disk; `left` are sessions that are hidden
    but still stored, since they were labelled meanwhile."""

    sessions: int
    left: int
    files: int
    file_bytes: int


def prune(engine: sa.Engine, settings: Settings, before: datetime, *, keep_failed: bool = False) -> Pruned:
    """Remove those sessions, some at a time, as a task of this process; the next worker goes on where it is killed."""
    about = {"before": before.isoformat(), "keep_failed": keep_failed}
    with tasks.done_here(engine, settings, PRUNE, about) as task:
        result = work(engine, settings, task)
        tasks.end(engine, task.id, "done", result)
    return Pruned(**result)


def work(
    engine: sa.Engine, settings: Settings, task: Task, *, between: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """Remove what is left of a prune; its result, as `prune` gives it. `between` is called between two steps."""
    before, keep_failed = datetime.fromisoformat(task.about["before"]), task.about["keep_failed"]
    removed_count = remaining = last = 0
    goes = _goes(keep_failed=keep_failed)
    query = sa.select(Session.id, Session.key).where(_old(before), goes).order_by(Session.id).limit(_AT_ONCE)
    while True:
        with orm.Session(engine) as db:
            rows = db.execute(query.where(Session.id > last)).all()
            hidden = set(deletion.delete(db, [row.key for row in rows]))
        if not rows:
            break
        last = rows[-1].id
        ids = [row.id for row in rows if row.key in hidden]
        removed = deletion.purge_just_hidden(engine, ids)
        removed_count, remaining = removed_count + removed, remaining + len(ids) - removed
        with writing(engine) as connection:
            if not tasks.note(connection, task.id, {"finished": removed_count}):
                raise Stopped(True)
        between()
    remove_unused_declarations(engine)
    files, file_bytes = _drop_files(engine, settings, before)
    return {"sessions": removed_count, "left": remaining, "files": files, "file_bytes": file_bytes}


def _goes(*, keep_failed: bool) -> sa.ColumnElement[bool]:
    return sa.and_(~_has_labels, ~_stays_failed(keep_failed=keep_failed))


def _stays_failed(*, keep_failed: bool) -> sa.ColumnElement[bool]:
    """Also those that may have failed, since their parser was not run."""
    may_have = sa.or_(Session.failed_count > 0, Session.strip.contains(LETTERS[NOT_RUN]))
    return sa.and_(~_has_labels, may_have) if keep_failed else sa.false()


def _old(before: datetime) -> sa.ColumnElement[bool]:
    """Got no turn since: neither from spans or a watched file, which say when it grew, nor from any dump."""
    new_turns = sa.select(DumpSession.dump_id).join(Dump, Dump.id == DumpSession.dump_id)
    new_turns = new_turns.where(DumpSession.session_id == Session.id, DumpSession.new_turns > 0)
    is_old = sa.func.coalesce(Session.grown_at, Session.ingested_at) < before
    return sa.and_(is_old, Session.deleted_at.is_(None), ~new_turns.where(Dump.received_at >= before).exists())


def _drop_files(engine: sa.Engine, settings: Settings, before: datetime) -> tuple[int, int]:
    """Remove the kept files of old dumps none of whose sessions are stored any more; their number and bytes."""
    has_session = sa.exists().where(DumpSession.dump_id == Dump.id)
    query = sa.select(Dump.sha256).where(Dump.received_at < before, Dump.session_count > 0, ~has_session)
    with engine.connect() as connection:
        hashes = connection.scalars(query).all()
    files = [(sha256, file) for sha256 in hashes if (file := dump_files.find(settings, sha256)) is not None]
    for sha256, _ in files:
        dump_files.remove(settings, sha256)
    return len(files), sum(file.size for _, file in files)
