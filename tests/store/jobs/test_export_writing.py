"""Exports behind a request: the bytes of the direct download, whole or not at all, whatever happens meanwhile."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from sqlalchemy import orm

from tests.store.jobs.exporting import (
    HOSTILE,
    bring_hostile,
    content,
    exported,
    files,
    find,
    key,
    names,
    of_filters,
    of_keys,
)
from tests.store.jobs.waiting import worker_at
from tests.store.jobs.workers import disconnected
from tests.store.made import CALL, Bring, entry, on_sqlite, windlass
from webapp.config import BadSetting, Settings
from webapp.store import tasks
from webapp.store.db.ids import batched
from webapp.store.exports import session_dump
from webapp.store.files import StoreUnreachable, file_store
from webapp.store.jobs import export_jobs, imports, worker
from webapp.store.models import Session, Task
from webapp.store.sessions import deletion, sessions
from webapp.store.sessions.filters import Filters

PATIENT = hypothesis_settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
FILTERS = st.builds(
    Filters,
    failed=st.booleans(),
    model=st.sampled_from((None, "m0", "m1", "nobody")),
    sort=st.sampled_from(("failing", "time", "failures", "length")),
    q=st.sampled_from((None, "run_code", "passwd", "nowhere")),
)


@pytest.fixture
def hostile(bring: Bring) -> None:
    bring_hostile(bring)


def direct(db: orm.Session, sessions: list[Session], job: Task) -> bytes:
    """What the direct download would have been at the moment of the export."""
    assert job.result is not None
    return b"".join(session_dump.stream_zip(db, sessions, datetime.fromisoformat(job.result["written_at"])))


@PATIENT
@given(filters=FILTERS)
def test_filters_give_the_bytes_of_the_direct_download(
    engine: sa.Engine, settings: Settings, db: orm.Session, hostile: None, filters: Filters
) -> None:
    job = exported(engine, settings, of_filters(filters))
    data = content(settings, job)
    chosen = sessions.filtered(db, filters)
    assert data == direct(db, chosen, job)
    assert job.result is not None and job.result["sha256"] == hashlib.sha256(data).hexdigest()
    assert (job.result["bytes"], job.result["sessions"]) == (len(data), len(chosen))
    assert job.result["deleted"] == job.result["changed"] == {"count": 0, "sessions": []}
    days = (datetime.fromisoformat(job.result["expires_at"]) - datetime.now(UTC)).total_seconds() / 86400
    assert 6.99 < days <= 7 == settings.export_days
    db.rollback()


def test_no_filter_is_all_sessions_beyond_the_thousand_of_a_download(
    engine: sa.Engine, settings: Settings, hostile: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MOST_SELECTED", 3)
    monkeypatch.setattr("webapp.store.sessions.sessions._FOUND_AT_ONCE", 2)
    monkeypatch.setattr(export_jobs, "batched", partial(batched, size=2))
    for filters in (Filters(), Filters(q="run_code")):
        assert len(names(content(settings, exported(engine, settings, of_filters(filters))))) == len(HOSTILE)


Between = Callable[[Callable[[int], None]], None]


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Between:
    """Has a function called between two sessions, with how many were written."""

    def call(act: Callable[[int], None]) -> None:
        real = export_jobs._sessions

        def spied(db: Any, chosen: Any, progress: Any, meanwhile: Any, give_way: Callable[[], None]) -> Any:
            def acting() -> None:
                act(progress.sessions)
                give_way()

            return real(db, chosen, progress, meanwhile, acting)

        monkeypatch.setattr(export_jobs, "_sessions", spied)

    return call


def test_what_is_deleted_or_changed_meanwhile_is_named(
    engine: sa.Engine, settings: Settings, db: orm.Session, bring: Bring, between: Between
) -> None:
    for name in "abcde":
        bring(windlass(name, [entry(CALL)]))
    keys = {name: key(db, name) for name in "abcde"}
    db.rollback()
    number = tasks.make(engine, tasks.EXPORT, of_keys(list(keys.values())))
    deletion.delete(db, [keys["e"]])

    def act(written: int) -> None:
        if written == 1:
            with orm.Session(engine) as other:
                deletion.delete(other, [keys["b"]])
            bring(windlass("c", [entry(CALL), entry("more")]))

    between(act)
    worker.work(engine, settings)
    job = find(engine, number)
    assert job.result is not None and job.state == "done"
    gone = [{"key": keys["e"], "id": None}, {"key": keys["b"], "id": "b"}]
    assert job.result["deleted"] == {"count": 2, "sessions": gone}, "before the worker began, and while it wrote"
    assert job.result["changed"] == {"count": 1, "sessions": [{"key": keys["c"], "id": "c"}]}
    assert names(content(settings, job)) == ["a.json", "c.json", "d.json"] and job.result["sessions"] == 3


@on_sqlite
def test_progress_counts_sessions_and_bytes(
    engine: sa.Engine, settings: Settings, hostile: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webapp.store.ingest.result.EVERY", 0.0)
    told: list[tuple[int, int | None, int]] = []
    note = tasks.note

    def spied(connection: sa.Connection, number: int, progress: dict[str, Any]) -> bool:
        told.append((progress["sessions"], progress["chosen"], progress["read"]))
        return note(connection, number, progress)

    monkeypatch.setattr(tasks, "note", spied)
    job = exported(engine, settings, of_filters(Filters()))
    assert told == sorted(told, key=lambda one: (one[0], one[2])) and len(told) > len(HOSTILE)
    assert job.result is not None and told[-1] == (len(HOSTILE), len(HOSTILE), job.result["bytes"])
    assert (job.progress["sessions"], job.progress["chosen"]) == (len(HOSTILE), len(HOSTILE))


@on_sqlite
def test_a_cancelled_export_leaves_nothing(
    engine: sa.Engine, settings: Settings, hostile: None, between: Between, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webapp.store.ingest.result.EVERY", 0.0)
    number = tasks.make(engine, tasks.EXPORT, of_filters(Filters()))
    between(lambda written: tasks.cancel(engine, number) if written == 2 else None)
    worker.work(engine, settings)
    job = find(engine, number)
    assert (job.state, job.result and job.result["error"]["code"]) == ("cancelled", "cancelled")
    assert files(settings) == []


@on_sqlite
def test_a_worker_that_is_to_end_leaves_the_export_to_the_next(
    engine: sa.Engine, settings: Settings, hostile: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webapp.store.ingest.result.EVERY", 0.0)
    number = tasks.make(engine, tasks.EXPORT, of_filters(Filters()))
    asked: Iterator[bool] = iter([False] * 8)
    worker.work(engine, settings, lambda: next(asked, True))
    assert (find(engine, number).state, find(engine, number).tries, files(settings)) == ("queued", 0, [])
    worker.work(engine, settings)
    assert len(names(content(settings, find(engine, number)))) == len(HOSTILE)


@on_sqlite
def test_an_import_that_comes_meanwhile_is_done_first(
    engine: sa.Engine, settings: Settings, hostile: None, between: Between, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the export goes on where it was: the imported session is no part of it."""
    monkeypatch.setattr(worker, "LOOKS", 0.0)
    number = tasks.make(engine, tasks.EXPORT, of_filters(Filters()))
    states: list[tuple[int, str]] = []

    def act(written: int) -> None:
        if written == 3:
            dump = json.dumps(windlass("later", [entry(CALL)])).encode()
            imports.ask(engine, settings, filename="x.json", path=imports.own(settings, io.BytesIO(dump)))
        with engine.connect() as connection:
            states.append((written, tasks.find(connection, number + 1).state if written > 3 else "none"))

    between(act)
    worker.work(engine, settings)
    assert states[3] == (4, "done") and find(engine, number).tries == 0
    assert len(names(content(settings, find(engine, number)))) == len(HOSTILE)


class Away:
    def put(self, *_: object) -> None:
        raise StoreUnreachable("FENCEPOST_STORE s3://bucket, exports/x.zip: no route")


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@on_sqlite
@pytest.mark.parametrize(
    ("owner", "name", "breaks", "code", "words"),
    [
        (export_jobs.Progress, "advance", full, "disk_full", "Make room"),
        (export_jobs, "file_store", lambda _: Away(), "store_unreachable", "s3://bucket"),
        (export_jobs, "_chosen", lambda *_: 1 / 0, "internal_error", ""),
    ],
    ids=["disk", "store", "bug"],
)
def test_what_breaks_is_said_and_leaves_nothing(
    owner: object, name: str, breaks: Callable[..., Any], code: str, words: str,
    engine: sa.Engine, settings: Settings, hostile: None, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(owner, name, breaks)
    job = exported(engine, settings, of_filters(Filters()))
    assert job.state == "failed" and job.result is not None and job.result["error"]["code"] == code
    assert words in job.result["error"]["message"] and files(settings) == []


PLACES = {
    "chosen": "webapp.store.jobs.export_jobs _chosen",
    "first": "webapp.store.exports.session_dump stream",
    "between": "webapp.store.exports.session_dump stream 5",
    "put": "webapp.store.files:LocalFiles put",
    "end": "webapp.store.tasks end",
}
"""before which call a worker is killed"""


@pytest.mark.parametrize(
    ("url", "where"),
    [
        *(("sqlite", where) for where in PLACES),
        *(pytest.param("postgres", where, marks=pytest.mark.postgres) for where in ("between", "end")),
    ],
    indirect=["url"],
)
def test_a_worker_killed_at_any_moment_never_leaves_half_a_file(
    engine: sa.Engine, settings: Settings, hostile: None, where: str
) -> None:
    number = tasks.make(engine, tasks.EXPORT, of_filters(Filters()))
    with worker_at(settings, PLACES[where]) as process:
        process.kill()
    job = find(engine, number)
    assert job.state == "running"
    with pytest.raises(export_jobs.NotReady):
        export_jobs.opened(settings, job)
    disconnected(engine)
    worker.work(engine, settings)
    job = find(engine, number)
    assert (job.state, job.tries, len(names(content(settings, job)))) == ("done", 1, len(HOSTILE))
    assert job.result is not None
    left = [name for name in files(settings) if name != export_jobs.name_of(job.result)]
    assert len(left) == (where == "end") and not any(name.startswith("export-") for name in left)
    for name in left:  # whole, and of no export: the purge removes it
        os.utime(settings.data / name, (1, 1))
    export_jobs.purge(engine, settings)
    assert files(settings) == [export_jobs.name_of(job.result)]


ALL = of_filters(Filters())
Make = Callable[[], Task]


@pytest.fixture
def make(engine: sa.Engine, settings: Settings, bring: Bring) -> Make:
    bring_hostile(bring)
    return lambda: exported(engine, settings, ALL)


@on_sqlite
def test_removing_an_export_leaves_the_file_of_another(engine: sa.Engine, settings: Settings, make: Make) -> None:
    first, second = make(), make()
    assert export_jobs.remove(engine, settings, first)
    assert not export_jobs.remove(engine, settings, first)
    assert content(settings, find(engine, second.id))
    assert export_jobs.remove(engine, settings, find(engine, second.id))
    with pytest.raises(export_jobs.ExportRemoved):
        content(settings, find(engine, second.id))


@on_sqlite
def test_a_file_that_no_export_names_goes_after_a_day(engine: sa.Engine, settings: Settings, make: Make) -> None:
    make()
    folder = settings.data / export_jobs.FOLDER
    for name in ("left.zip", "fresh.zip"):
        (folder / name).write_bytes(b"x")
    for name in (f"{export_jobs.FOLDER}/left.zip", *files(settings)):
        if not name.endswith("fresh.zip"):
            os.utime(settings.data / name, (1, 1))
    export_jobs.purge(engine, settings)
    assert not (folder / "left.zip").exists() and len(files(settings)) == 2


def test_an_export_written_before_names_had_numbers_keeps_its_file(
    engine: sa.Engine, settings: Settings, make: Make
) -> None:
    job = make()
    assert job.result is not None
    now, before = (
        settings.data / export_jobs.FOLDER / f"{prefix}{job.result['sha256']}.zip" for prefix in (f"{job.id}-", "")
    )
    now.rename(before)
    os.utime(before, (1, 1))
    with engine.begin() as connection:
        unnamed = {name: value for name, value in job.result.items() if name != "name"}
        connection.execute(sa.update(Task).where(Task.id == job.id).values(result=unnamed))
    export_jobs.purge(engine, settings)
    job = find(engine, job.id)
    assert len(names(content(settings, job))) == len(HOSTILE)
    assert export_jobs.remove(engine, settings, job) and files(settings) == []


@on_sqlite
def test_a_file_that_somebody_removed_is_said(engine: sa.Engine, settings: Settings, make: Make) -> None:
    job = make()
    file_store(settings).remove(files(settings)[0])
    with pytest.raises(export_jobs.ExportRemoved, match="on another machine"):
        export_jobs.opened(settings, job)


@pytest.mark.parametrize("text", ["0", "x", "-1", "3651", "1.5"])
def test_the_days_are_a_number(text: str) -> None:
    with pytest.raises(BadSetting, match="FENCEPOST_EXPORT_DAYS must be a number of days from 1 to 3650"):
        Settings.from_environment({"FENCEPOST_EXPORT_DAYS": text})
    assert Settings.from_environment({"FENCEPOST_EXPORT_DAYS": "30"}).environment()["FENCEPOST_EXPORT_DAYS"] == "30"
