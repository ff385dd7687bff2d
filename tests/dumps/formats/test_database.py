"""SQLite files as no text can write them: refused, cut, or with what would run; see `databases.md` for others."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.dumps.conftest import gather
from webapp.dumps.budget import BadDump
from webapp.dumps.opening import opened
from webapp.dumps.records import UnknownFormat
from webapp.dumps.sqlite_tables import opened_tables


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "app.db"


def made(path: Path, script: str) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return path


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        ("berths (id)", "(7)"),
        ("runs (name, result)", "('a test of the harbour', 'it passed, as all of them did')"),
        ("people (name, role, created_at)", "('Ada', 'user', '2026-01-01'), ('Bo', 'user', '2026-01-01')"),
        ("chat (role, content)", "('user', 'Who is on the pier tonight?'), ('user', 'Who is on the pier?')"),
        ("calls (method, request, response)", """('GET', '{"id": 1}', '{"ok": true, "message": "All went well."}')"""),
    ],
)
def test_a_table_in_which_no_model_speaks_is_refused(path: Path, table: str, rows: str) -> None:
    name = table.partition(" ")[0]
    with pytest.raises(UnknownFormat, match=f"'{name}'"):
        gather(made(path, f"CREATE TABLE {table}; INSERT INTO {name} VALUES {rows};"), path.name)


@pytest.mark.parametrize(
    ("size", "there"), [(60, "it ends after 60 bytes, in its header"), (3000, "3,000 of its 8,192")]
)
def test_a_database_without_its_tables_is_said_to_be_cut(path: Path, size: int, there: str) -> None:
    made(path, "CREATE TABLE answers (answer); INSERT INTO answers VALUES ('The answer');")
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(BadDump, match=f"is cut: {there}.*none of its tables can be read"):
        gather(path, path.name)


def test_a_cut_database_is_read_as_far_as_it_goes(path: Path) -> None:
    said = f'{{"role": "assistant", "content": "{"word " * 50}"}}'
    made(
        path,
        "CREATE TABLE agent_sessions (session_id); INSERT INTO agent_sessions VALUES ('s');"
        "CREATE TABLE agent_messages (id, session_id, message_data);"
        "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 400)"
        f"INSERT INTO agent_messages SELECT id, 's', '{said}' FROM n;",
    )
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    found = gather(path, path.name)
    assert 100 < len(found.only) < 400
    assert [problem.reason.partition(":")[0] for problem in found.problems] == ["the SQLite file is cut"]


def test_a_view_is_no_table_and_a_trigger_never_runs(path: Path) -> None:
    made(
        path,
        "CREATE TABLE conversations (id TEXT); CREATE VIEW responses AS SELECT 1 AS id;"
        "CREATE TABLE gone (x); INSERT INTO gone VALUES (1);"
        "CREATE TRIGGER t BEFORE DELETE ON gone BEGIN SELECT load_extension('x'); END;",
    )
    with pytest.raises(UnknownFormat, match="no known shape"):
        gather(path, path.name)
    with opened(path, path.name) as source, opened_tables(source) as tables:
        assert tables.names == ["conversations", "gone"]
        with pytest.raises(sqlite3.DatabaseError, match=r"not authorized|readonly|prohibited"):
            tables._connection.execute("DELETE FROM gone")
