"""A full disk: words, a sound database, and nothing lost of what came before."""

from __future__ import annotations

import errno
import io
import shutil
import sqlite3
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests import forking
from tests.store.whole import ENTRIES, all_whole, lines
from webapp.config import Settings
from webapp.store import files
from webapp.store.db import database
from webapp.store.ingest import dump_files
from webapp.store.ingest.start import ingest
from webapp.store.jobs import imports, worker
from webapp.store.models import Dump

CHILD = """
import os, resource, sys
from pathlib import Path
from webapp.config import Settings
from webapp.store import files
from webapp.store.db import database
from webapp.store.jobs import worker
from webapp.store.ingest.start import ingest

os.dup2(1, 2)
data, url, most, how, dump = sys.argv[1:]
engine = database.connect(url)
settings = Settings(data=Path(data), database=url, home="direct")
resource.setrlimit(resource.RLIMIT_FSIZE, (int(most), int(most)))
if how == "job":
    worker.work(engine, settings)
    sys.exit(7)
try:
    with open(dump, "rb") as stream:
        ingest(engine, settings, stream, filename="big.jsonl")
except files.DiskFull as error:
    print(error)
    sys.exit(7)
"""


@pytest.fixture
def limited(tmp_path: Path, migrated: Path) -> Settings:
    """A database with one session in it, on a disk that will have no room: no file may grow beyond a size."""
    file = shutil.copyfile(migrated, tmp_path / "x.sqlite3")
    settings = Settings(data=tmp_path / "data", database=f"sqlite:///{file}", home="direct")
    engine = database.connect(settings.database)
    ingest(engine, settings, io.BytesIO(lines(1)), filename="first.jsonl")
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    engine.dispose()
    return settings


def fill(settings: Settings, most: int, how: str, dump: Path) -> tuple[int, str]:
    """The exit code and what was said of a process that imports the dump."""
    with forking.script(CHILD, str(settings.data), settings.database, str(most), how, str(dump), text=True) as process:
        said, _ = process.communicate()
        return process.wait(), said


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on a file's size")
@pytest.mark.parametrize(("room", "sessions", "how"), [(70_000, 18, "job"), (800_000, 30, "ingest")])
def test_no_room_while_a_dump_is_read(limited: Settings, tmp_path: Path, room: int, sessions: int, how: str) -> None:
    """No room for the spool, and room for that but not for the database."""
    dump = tmp_path / "big.jsonl"
    dump.write_bytes(lines(sessions).replace(b"run_code", b"run_code" * 10))
    engine = database.connect(limited.database)
    if how == "job":
        with dump.open("rb") as stream:
            imports.ask(engine, limited, filename="big.jsonl", path=imports.own(limited, stream))
    assert dump.stat().st_size > 70_000
    code, said = fill(limited, room, how, dump)
    assert code == 7 or "disk" in said, said
    with sqlite3.connect(engine.url.database or "") as plain:
        assert plain.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    plain.close()
    with orm.Session(engine) as db:
        assert 1 <= all_whole(db) <= sessions
    worker.work(engine, limited)
    with dump.open("rb") as stream:
        again = ingest(engine, limited, stream, filename="big.jsonl")
    with orm.Session(engine) as db:
        assert (len(again.sessions), again.dump.turn_count) == (sessions, sessions * ENTRIES)
        assert set(db.scalars(sa.select(Dump.state))) == {"done"}
    engine.dispose()
    assert [path.name for path in dump_files.incoming(limited.data).iterdir()] == []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_the_system_s_errors_are_told(code: int) -> None:
    with pytest.raises(files.DiskFull, match="Make room"), files.full_disk_in_words():
        raise OSError(code, "no room")


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(PermissionError), files.full_disk_in_words():
        raise PermissionError(errno.EACCES, "no")
    assert not files.is_full(ValueError())
