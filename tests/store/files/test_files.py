"""What one machine puts another one reads, whole or not at all; what cannot be reached says so in words."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.jobs import exporting
from tests.store.made import BROKEN, CALL, entry, windlass
from webapp.config import BadSetting, Settings
from webapp.store import tasks
from webapp.store.exports import session_dump
from webapp.store.files import StoreUnreachable, file_store, remote_files, without_password
from webapp.store.ingest import dump_files
from webapp.store.ingest.start import ingest_again
from webapp.store.jobs import export_jobs, imports, pruning, worker
from webapp.store.models import Dump, Session
from webapp.store.sessions.filters import Filters

DATA = json.dumps(windlass("s1", [entry(CALL), entry(BROKEN)])).encode()


@pytest.fixture
def elsewhere(settings: Settings, tmp_path: Path) -> Settings:
    """Another machine: the same database and store, a folder of its own; the same one where there is no store."""
    return dataclasses.replace(settings, data=tmp_path / "elsewhere") if settings.store else settings


def _names(settings: Settings, folder: str) -> list[str]:
    return [file.name for file in file_store(settings).files(folder) if not file.name.endswith(".lock")]


def test_an_upload_is_read_on_another_machine(engine: sa.Engine, settings: Settings, elsewhere: Settings) -> None:
    path = imports.own(settings, io.BytesIO(DATA))
    number = imports.ask(engine, settings, filename="x.json", path=path)
    assert path.exists() == (settings.store is None)
    assert _names(elsewhere, "dumps/incoming") == [f"dumps/incoming/{path.name}"]
    worker.work(engine, elsewhere)
    with engine.connect() as connection:
        assert tasks.find(connection, number).state == "done"
        (sha256,) = connection.scalars(sa.select(Dump.sha256))
    assert _names(settings, "dumps/incoming") == []
    with dump_files.open_kept(settings, sha256) as kept:
        assert kept.read() == DATA
    assert ingest_again(engine, settings, sha256).new_turns == 0


def test_a_session_dump_is_written_where_all_find_it(
    engine: sa.Engine, settings: Settings, elsewhere: Settings
) -> None:
    imports.ask(engine, settings, filename="x.json", path=imports.own(settings, io.BytesIO(DATA)))
    worker.work(engine, settings)
    with orm.Session(engine) as db:
        written = session_dump.write(db, settings, db.scalars(sa.select(Session)).one())
    assert written.address == f"{file_store(settings).place}/logs/session_dumps/s1.json"
    with file_store(elsewhere).open(written.name) as file:
        assert json.load(file)["entries"] == json.loads(DATA)["entries"]
    assert _names(settings, "logs/session_dumps") == [written.name]


def test_pruning_removes_kept_files_from_the_store(engine: sa.Engine, settings: Settings, elsewhere: Settings) -> None:
    for number in range(2):
        data = DATA.replace(b'"s1"', f'"s{number}"'.encode())
        imports.ask(engine, settings, filename=f"{number}.json", path=imports.own(settings, io.BytesIO(data)))
    worker.work(engine, settings)
    assert len(_names(settings, "dumps")) == 2
    pruned = pruning.prune(engine, elsewhere, datetime.now(UTC) + timedelta(days=1))
    assert (pruned.sessions, pruned.left, pruned.files) == (2, 0, 2)
    assert pruned.file_bytes > 0
    assert _names(settings, "dumps") == []


def test_an_export_is_written_here_and_downloaded_and_removed_elsewhere(
    engine: sa.Engine, settings: Settings, elsewhere: Settings
) -> None:
    imports.ask(engine, settings, filename="x.json", path=imports.own(settings, io.BytesIO(DATA)))
    worker.work(engine, settings)
    job = exporting.exported(engine, settings, exporting.of_filters(Filters()))
    assert job.result is not None and _names(elsewhere, "exports") == [export_jobs.name_of(job.result)]
    data = exporting.content(elsewhere, job)
    assert hashlib.sha256(data).hexdigest() == job.result["sha256"] and exporting.names(data) == ["s1.json"]
    with export_jobs.opened(elsewhere, job) as file:  # as an answer to `Range` reads it
        file.seek(10)
        assert file.read(5) == data[10:15]
    assert export_jobs.remove(engine, elsewhere, job) and _names(settings, "exports") == []


HOSTILE = ("dumps/a%20%3F%2A..~0123-_.zst", "logs/session_dumps/plain.json")


def _file(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "data" / "incoming-file"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_comes_back_and_goes(settings: Settings, tmp_path: Path, name: str) -> None:
    store = file_store(settings)
    content = bytes(range(256)) * 40_000
    assert store.find(name) is None
    assert list(store.files("dumps")) == []
    for text in (b"first", content):
        path = _file(tmp_path, text)
        store.put(name, path)
        assert not path.exists()
        with store.open(name) as file:
            assert file.read() == text
    known = store.find(name)
    assert known is not None and (known.name, known.size) == (name, len(content))
    assert 0 <= known.age < 60
    assert [file.name for file in store.files(name.rpartition("/")[0])] == [name]
    store.remove(name)
    store.remove(name)
    assert store.find(name) is None
    with pytest.raises(FileNotFoundError):
        store.open(name)


def test_what_breaks_while_it_is_written_leaves_nothing(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, path = file_store(settings), _file(tmp_path, b"whole")

    def broken(*_: object, **__: object) -> None:
        raise OSError("cut off")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="cut off"):
        where, step = (type(path), "replace") if settings.store is None else (type(store.file_system), "mv")
        patch.setattr(where, step, broken)
        store.put("dumps/x.zst", path)
    assert path.read_bytes() == b"whole"
    assert list(store.files("dumps")) == []


def test_a_store_that_cannot_be_reached(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreachable, match=r"nosuch://ann:\*\*\*@host/x: .*nosuch"):
        remote_files("nosuch://ann:secret@host/x")
    (tmp_path / "file").write_bytes(b"")
    store = remote_files(f"file://{tmp_path / 'file'}")
    with pytest.raises(StoreUnreachable, match=r"FENCEPOST_STORE .*dumps/x\.zst"):
        store.put("dumps/x.zst", _file(tmp_path, b"x"))


def test_a_password_is_not_shown() -> None:
    assert without_password("s3://key:secret@bucket/x") == "s3://key:***@bucket/x"
    assert without_password("memory://x") == "memory://x"


def test_what_is_no_url_is_refused() -> None:
    with pytest.raises(BadSetting, match="FENCEPOST_STORE must be an fsspec URL"):
        Settings.from_environment({"FENCEPOST_STORE": "/srv/files"})
