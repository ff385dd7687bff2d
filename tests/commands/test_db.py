"""`fencepost db`: migrate and status."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.commands.stored import Run, dump, runner
from webapp.store.db.database import HEAD


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return runner(tmp_path / "data")


def test_migrate_makes_the_database_once(run: Run) -> None:
    assert run("db", "migrate").stdout == f"from revision none to {HEAD}\n"
    assert run("db", "migrate").stdout == f"at revision {HEAD}, the newest; nothing to do\n"
    assert json.loads(run("db", "migrate", "--json").stdout) == {"before": HEAD, "revision": HEAD}


def test_status_before_there_is_anything(run: Run) -> None:
    done = run("db", "status")
    assert done.exit_code == 1
    assert f"revision none, the newest is {HEAD}" in done.stdout


def test_status_counts_what_there_is(run: Run, tmp_path: Path) -> None:
    run("ingest", str(dump(tmp_path / "a.json", "s1", "{}", "x")))
    done = run("db", "status", "--json")
    assert done.exit_code == 0
    answer = json.loads(done.stdout)
    assert (answer["revision"], answer["counts"]["session"], answer["counts"]["turn"]) == (HEAD, 1, 2)
    assert answer["database"].startswith("sqlite:///")
    assert run("db", "status").stdout.splitlines()[1] == f"revision {HEAD}"


def test_a_newer_database_is_refused(run: Run, tmp_path: Path) -> None:
    run("db", "migrate")
    with closing(sqlite3.connect(tmp_path / "data" / "fencepost.sqlite3")) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = 'future'")
    done = run("db", "migrate")
    assert done.exit_code == 1
    assert "a newer one wrote it" in done.stderr
    assert run("db", "status").exit_code == 1


def test_a_database_that_cannot_be_opened(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    done = run("db", "status", FENCEPOST_DATABASE=f"sqlite:///{folder}")
    assert done.exit_code == 1
    assert "unable to open database file" in done.stderr


def test_a_password_is_not_shown(run: Run) -> None:
    done = run("db", "status", FENCEPOST_DATABASE="postgresql+psycopg://ann:secret@127.0.0.1:1/none?connect_timeout=2")
    assert done.exit_code == 1
    assert "secret" not in done.output


def test_reindex_fills_in_what_is_missing(run: Run, tmp_path: Path) -> None:
    run("ingest", str(dump(tmp_path / "a.json", "s1", "{}", "x")))
    assert run("db", "reindex").stdout == "nothing is missing\n"
    assert run("db", "reindex", "--all").stdout == "1 session filled in\n"
    assert run("db", "reindex", "--findings").stdout == "1 session filled in\n"
    assert json.loads(run("db", "reindex", "--all", "--json").stdout) == {"sessions": 1}


def test_a_backup_can_be_served(run: Run, tmp_path: Path) -> None:
    run("ingest", str(dump(tmp_path / "a.json", "s1", "{}", "x")))
    target = tmp_path / "copy.sqlite3"
    assert run("db", "backup", str(target)).stdout == f"{target}: {target.stat().st_size:,} bytes, checked\n"
    assert "already" in run("db", "backup", str(target)).stderr
    status = run("db", "status", "--json", FENCEPOST_DATABASE=f"sqlite:///{target}")
    assert json.loads(status.stdout)["counts"]["session"] == 1


def test_a_copy_counts_its_tables_and_refuses_a_second(run: Run, tmp_path: Path) -> None:
    run("ingest", str(dump(tmp_path / "a.json", "s1", "{}", "x")))
    source, target = tmp_path / "data" / "fencepost.sqlite3", tmp_path / "copy.sqlite3"
    done = run("db", "copy", str(source), str(target))
    assert done.exit_code == 0, done.output
    assert "turn                                2" in done.stdout
    assert re.fullmatch(r"[\d,]+ rows in \d+ tables", done.stdout.splitlines()[-1])
    again = run("db", "copy", str(source), f"sqlite:///{target}")
    assert again.exit_code == 1
    assert "the target has rows in its table 'dump'" in again.stderr
    as_json = json.loads(run("db", "copy", "--json", str(target), str(tmp_path / "third.sqlite3")).stdout)
    assert {"name": "turn", "rows": 2} in [{"name": t["name"], "rows": t["rows"]} for t in as_json["tables"]]


def test_a_copy_of_nothing_and_of_itself(run: Run, tmp_path: Path) -> None:
    missing = run("db", "copy", str(tmp_path / "none.sqlite3"), str(tmp_path / "copy.sqlite3"))
    assert (missing.exit_code, "there is no file" in missing.stderr) == (2, True)
    assert not (tmp_path / "copy.sqlite3").exists()
    run("db", "migrate")
    own = str(tmp_path / "data" / "fencepost.sqlite3")
    assert run("db", "copy", own, f"sqlite:///{own}").exit_code == 2
