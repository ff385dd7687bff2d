"""Opens the database and brings its schema to the revision that this code knows."""

from __future__ import annotations

import logging
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

import sqlalchemy as sa

from webapp import installation
from webapp.refusals import NotPossible
from webapp.store.db import dialect

if TYPE_CHECKING:
    from alembic.config import Config
    from alembic.script import ScriptDirectory

_newest = max(installation.resource("migrations").glob("*_*.py"), key=lambda file: file.name)
HEAD = next(line.split('"')[1] for line in _newest.read_text("utf-8").splitlines() if line.startswith("revision ="))
"""The newest revision, of the file that comes last by its name: a start at head need not load Alembic."""

POOLED = 5
"""connections to PostgreSQL that stay open once they were needed, where `FENCEPOST_POOL` says nothing …"""
MORE = 10
"""… and those beyond them while more are needed at once, closed after that"""
MOST_THREADS = 64
"""of a server that write, and as many that read: none waits for another's connection"""
SECONDS_TO_WAIT = 30.0
"""for SQLite's write lock"""
_PRAGMAS = (
    "page_size=8192",
    "journal_mode=WAL",
    "synchronous=NORMAL",
    "foreign_keys=ON",
    "cache_size=-6000",
    "temp_store=MEMORY",
    "journal_size_limit=67108864",
)
"""A page of 8 KB holds three turns of 2 KB where one of 4 KB holds one: a fifth less on disk. A write-ahead log that
one large session blew up is cut to 64 MB when it is next begun anew."""
_LOST = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 25_000}
"""Seconds, times, milliseconds: within half a minute both ends of a PostgreSQL connection know that the network between
them is gone. By default the server holds for two hours what a host that was cut off had locked."""
LONGEST_HELD, REST = 0.06, 0.025
"""seconds that transactions in a row hold SQLite's write lock in all before they rest, and for how long"""
_T = TypeVar("_T")
_version = sa.table("alembic_version", sa.column("version_num", sa.String))
_LOCK = 0x46454E43  # an arbitrary number of our own for PostgreSQL's advisory lock
_log = logging.getLogger(__name__)


class WrongRevisions(RuntimeError):
    """The files under `migrations/` are no chain that ends with the one whose name is the highest."""


class NewerDatabase(NotPossible):
    """A newer Fencepost or something else wrote the database, or only half of it is there; the message says which."""


class PerEngine(WeakKeyDictionary[sa.Engine, _T]):
    """What this process keeps of each database, by its engine; called with one it is made where there is none yet."""

    def __init__(self, make: Callable[[], _T]) -> None:
        super().__init__()
        self._make = make
        self._lock = threading.Lock()

    def __call__(self, engine: sa.Engine) -> _T:
        with self._lock:
            if engine not in self:
                self[engine] = self._make()
            return self[engine]


_waits = PerEngine[list[float]](list)
"""seconds of each long transaction since the last rest"""


def connect(url: str, *, durable: bool = False, pool: int | None = None) -> sa.Engine:
    """An engine for `url`, ready for use; see `options` and `prepare`."""
    engine_options = options(url, pool)
    return prepare(sa.create_engine(engine_options.pop("url"), **engine_options), durable=durable)


def options(url: str, pool: int | None = None) -> dict[str, Any]:
    """What `sa.create_engine` takes for `url`. Raises SQLAlchemy's `ArgumentError` for no URL at all.

    On SQLite every write transaction takes the write lock at its start and waits up to 30 s for it, so that
    no transaction that began with reading fails when it comes to write; readers never wait (WAL). `pool` is for
    PostgreSQL alone.
    """
    parsed = sa.make_url(url)
    if parsed.get_backend_name() != "sqlite":
        timeouts = {name: value for name, value in _LOST.items() if name not in parsed.query}
        sizes = {"pool_size": pool or POOLED, "max_overflow": MORE}
        return {"url": parsed, "pool_pre_ping": True, "connect_args": timeouts, **sizes}
    return {
        "url": parsed,
        "connect_args": {"isolation_level": "IMMEDIATE", "timeout": SECONDS_TO_WAIT},
        "max_overflow": 2 * MOST_THREADS,
    }


def prepare(engine: sa.Engine, *, durable: bool = False) -> sa.Engine:
    """Make a SQLite engine's file, its owner's alone, and have each connection set the pragmas; call it first.

    With `durable` a commit waits for the disk; else a power cut may take the last ones, never the database.
    """
    if engine.dialect.name == "sqlite":
        if engine.url.database and engine.url.database != ":memory:":
            _make_private(Path(engine.url.database))
        pragmas = (*_PRAGMAS, "synchronous=FULL") if durable else _PRAGMAS
        sa.event.listen(engine, "connect", partial(_set_pragmas, pragmas))
    else:
        sa.event.listen(engine, "connect", _set_timeouts)
    return engine


def _make_private(path: Path) -> None:
    """Make the file where it is missing, and see that others than its owner's group do not read what it holds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(OSError):  # somebody else's file, or a folder that cannot be written: connecting says so in words
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        if (mode := stat.S_IMODE(path.stat().st_mode)) & 0o007:
            path.chmod(mode & ~0o007)


@contextmanager
def writing(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A transaction that holds SQLite's write lock from its start, so that what it reads cannot change under it."""
    with engine.begin() as connection:
        _take_lock(connection)
        yield connection


@contextmanager
def writing_long(engine: sa.Engine) -> Iterator[sa.Connection]:
    """One of many such transactions in a row, which rest now and then: SQLite's write lock has no queue, and who waits
    for it looks at it every 25 ms."""
    with engine.begin() as connection:
        _take_lock(connection)
        began = time.monotonic()
        yield connection
    waits = _waits(engine)
    waits.append(time.monotonic() - began)
    if sum(waits) >= LONGEST_HELD:
        waits.clear()
        if engine.dialect.name == "sqlite":
            time.sleep(REST)


def _take_lock(connection: sa.Connection) -> None:
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def revision(engine: sa.Engine) -> str | None:
    """The revision that the database is at; None where it is empty."""
    with engine.connect() as connection:
        return revision_of(connection)


def migrate(engine: sa.Engine) -> None:
    """Bring the database to `HEAD` in one transaction; two processes may do so at once.

    Raises `NewerDatabase` and `WrongRevisions`.
    """
    if revision(engine) == HEAD:
        return
    from alembic.runtime.environment import EnvironmentContext  # here, since a start at head does not need Alembic
    from alembic.script import ScriptDirectory

    config = alembic_config()
    script = ScriptDirectory.from_config(config)
    if script.get_heads() != [HEAD]:
        heads = ", ".join(script.get_heads())
        raise WrongRevisions(f"migrations/ ends with {heads}, and its highest file is {HEAD}: they must be one")
    with writing(engine) as connection:
        dialect.take_locks(connection, _LOCK)
        _refuse_unknown(script, revision_of(connection))
        steps = EnvironmentContext(config, script, fn=lambda at, _: script._upgrade_revs(HEAD, at))
        with steps as context:
            context.configure(connection=connection, transactional_ddl=True)
            context.run_migrations()


def _refuse_unknown(script: ScriptDirectory, current: str | None) -> None:
    if current is None:
        return
    if current not in {revision.revision for revision in script.walk_revisions()}:
        raise NewerDatabase(
            f"The database is at revision {current!r}, which this Fencepost does not know: a newer one wrote it, or "
            "one from before the first release. Install that version, or point FENCEPOST_DATABASE at another "
            "database; nothing was changed."
        )
    if current != HEAD:
        words = "the database goes from revision %s to %s, which takes minutes for a large one"
        _log.warning(words, current, HEAD)


def alembic_config() -> Config:
    """Alembic's settings: every revision lies flat in `migrations`, and there is no env.py."""
    from alembic.config import Config  # here for the same reason

    folder = str(installation.resource("migrations")).replace("%", "%%")
    config = Config()
    config.set_main_option("path_separator", "newline")
    config.set_main_option("script_location", folder)
    config.set_main_option("version_locations", folder)
    return config


def revision_of(connection: sa.Connection) -> str | None:
    """As `revision`."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    return connection.scalar(sa.select(_version.c.version_num))


def _set_timeouts(connection: Any, _record: Any) -> None:
    """Have the server look after the connection as this end does: by statements, since poolers refuse options."""
    cursor = connection.cursor()
    for name, value in _LOST.items():
        cursor.execute(f"SET {name if name.startswith('tcp_') else f'tcp_{name}'} = {value}")
    cursor.close()
    connection.commit()  # or a rollback takes it back


def _set_pragmas(pragmas: tuple[str, ...], connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    for pragma in pragmas:
        _set_pragma(cursor, pragma)
    cursor.close()


def _set_pragma(cursor: Any, pragma: str) -> None:
    """Set it as soon as it can be: SQLite answers "locked" at once while another process makes a new file a WAL one."""
    deadline = time.monotonic() + SECONDS_TO_WAIT
    while True:
        try:
            cursor.execute(f"PRAGMA {pragma}")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


_table = sa.table("database_secret", sa.column("name", sa.String), sa.column("value", sa.LargeBinary))


def shared_secret(engine: sa.Engine, name: str, fresh: bytes) -> bytes:
    """The value of that name; `fresh` where there is none yet, which is kept: of two at once both get the same."""
    with writing(engine) as connection:
        connection.execute(dialect.insert_new(_table, {"name": name, "value": fresh}, ("name",)))
        return bytes(connection.scalars(sa.select(_table.c.value).where(_table.c.name == name)).one())
