"""Opening and migrating: to head, once, by two at a time, and never a newer database."""

from __future__ import annotations

import ast
import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from flask import Flask
from flask_alembic import Alembic
from sqlalchemy import orm

from tests.store.db import first_tables
from webapp import installation
from webapp.store.db import database
from webapp.store.db.database import WrongRevisions
from webapp.store.models import Base, Session
from webapp.store.models.dumps import SEARCH_TABLES
from webapp.store.sessions import sessions
from webapp.store.sessions.filters import Filters
from webapp.store.sessions.where import View

IMPORTS = (ast.Import, ast.ImportFrom)


def test_metadata_and_migrations_agree(blank: sa.Engine) -> None:
    with blank.connect() as connection:
        options = {"compare_type": True, "compare_server_default": True, "include_name": _is_ours}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, Base.metadata) == []
        names = {name for name in sa.inspect(connection).get_table_names() if name.startswith("search_")}
        made = " ".join(SEARCH_TABLES[connection.dialect.name])
        assert names and all(f"TABLE {name} " in made for name in names if not name.startswith(_SHADOWS))


_SHADOWS = tuple(f"{name}_{part}" for name in ("search_raw", "search_note") for part in ("c", "d", "i"))
"""FTS5's own tables behind its virtual ones: config, content, data, docsize, idx"""


def _is_ours(name: str | None, kind: str, _parents: object) -> bool:
    """All but the search index, whose tables no model describes."""
    return kind != "table" or not (name or "").startswith("search_")


def test_the_first_revision_imports_nothing_of_the_program() -> None:
    modules = [node for node in ast.walk(ast.parse(first_tables.path().read_text())) if isinstance(node, IMPORTS)]
    assert [node.module if isinstance(node, ast.ImportFrom) else node.names[0].name for node in modules] == [
        "__future__",
        "sqlalchemy",
        "alembic",
    ]


def test_a_first_revision_that_the_models_do_not_make_says_so() -> None:
    assert first_tables.complaint() is None
    column = Base.metadata.tables["dump"].c.format
    was, column.nullable = column.nullable, False
    try:
        assert (first_tables.complaint() or "").startswith(
            "migrations/0001_first_tables.py is not what the models make"
        )
    finally:
        column.nullable = was


def test_a_wrong_revision_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "HEAD", "0099")
    engine = database.connect(f"sqlite:///{tmp_path / 'store.sqlite3'}")
    with pytest.raises(WrongRevisions, match=r"migrations/ ends with 0001_[0-9a-f]{8}, and its highest file is 0099"):
        database.migrate(engine)
    engine.dispose()


def test_two_may_migrate_at_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.sqlite3'}"

    def migrate(_: int) -> None:
        engine = database.connect(url)
        database.migrate(engine)
        engine.dispose()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(migrate, range(4)))


def test_sqlite_runs_in_wal_mode_with_foreign_keys(tmp_path: Path) -> None:
    engine = database.connect(f"sqlite:///{tmp_path / 'store.sqlite3'}")
    with engine.connect() as connection:
        found = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "foreign_keys")]
    engine.dispose()
    assert found == ["wal", 1]


def test_flask_alembic_finds_the_same_revisions(blank: sa.Engine) -> None:
    """Its layout is the one used here: revisions flat in the folder, no env.py."""
    app = Flask(__name__)
    app.config["ALEMBIC"] = {"script_location": str(installation.resource("migrations"))}
    alembic = Alembic(run_mkdir=False, metadatas=Base.metadata, engines=blank)
    alembic.init_app(app)
    with app.app_context():
        assert [script.revision for script in alembic.heads()] == [database.HEAD]
        assert [script.revision for script in alembic.current()] == [database.HEAD]


def test_a_list_reads_its_order_from_an_index(tmp_path: Path) -> None:
    engine = database.connect(f"sqlite:///{tmp_path / 'store.sqlite3'}")
    database.migrate(engine)
    plans: list[str] = []

    def explain(
        connection: sa.Connection, _cursor: object, statement: str, parameters: tuple[object, ...], *_: object
    ) -> None:
        if statement.startswith("SELECT") and "ORDER BY session.failed DESC" in statement:
            raw = connection.connection.cursor()
            plans.extend(row[3] for row in raw.execute(f"EXPLAIN QUERY PLAN {statement}", parameters))
            raw.close()

    sa.event.listen(engine, "before_cursor_execute", explain)
    behind = [1, datetime(2020, 1, 1, tzinfo=UTC), 1]
    with orm.Session(engine) as db:
        sessions.in_order(db, View(Filters()), "failing", behind, 100, Session.response_count)
    engine.dispose()
    assert "INDEX ix_session_failing ((failed,happened_at" in plans[0]
    assert not any("TEMP B-TREE" in step or step == "SCAN session" for step in plans)


def test_the_database_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "own" / "fencepost.sqlite3"
    engine = database.connect(f"sqlite:///{path}")
    database.migrate(engine)
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in path.parent.iterdir())
    engine.dispose()


def test_an_older_database_is_no_longer_everybodys(tmp_path: Path) -> None:
    path = tmp_path / "fencepost.sqlite3"
    path.touch()
    path.chmod(0o644)
    database.connect(f"sqlite:///{path}").dispose()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize(("durable", "level"), [(False, 1), (True, 2)])
def test_durable_commits_wait_for_the_disk(tmp_path: Path, durable: bool, level: int) -> None:
    engine = database.connect(f"sqlite:///{tmp_path / 'd.sqlite3'}", durable=durable)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == level
    engine.dispose()


@pytest.mark.postgres
@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_both_ends_of_a_postgresql_connection_notice_a_lost_network(url: str) -> None:
    """Or a host that was cut off keeps its locks for two hours; what the URL says of this end goes first."""
    engine = database.connect(f"{url}?keepalives_idle=77")
    with engine.connect() as connection:
        connection.rollback()
        shown = [
            connection.exec_driver_sql(f"SHOW {name}").scalar() for name in ("tcp_keepalives_idle", "tcp_user_timeout")
        ]
        parameters = connection.connection.driver_connection.info.get_parameters()
    engine.dispose()
    assert shown[0] == "10" and shown[1] in ("25s", "25000")  # PostgreSQL 15 gives it without its unit
    assert (parameters["keepalives_idle"], parameters["tcp_user_timeout"]) == ("77", "25000")
