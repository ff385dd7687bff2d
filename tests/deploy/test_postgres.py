"""What docs/deploy.md shows for PostgreSQL, line by line, with a role and databases of the test's own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.commands.stored import runner
from tests.deploy.page import EXAMPLE, ROOT, fenced
from tests.store.conftest import SERVER, administer
from webapp.parsing.words import counted

pytestmark = pytest.mark.postgres


@pytest.fixture
def name() -> Iterator[str]:
    """In place of `fencepost`: of a role and its database, both gone in the end."""
    name = f"fencepost_lines_{uuid.uuid4().hex[:8]}"
    try:
        administer("SELECT 1")
    except sa.exc.OperationalError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no PostgreSQL on 127.0.0.1 under CI: {error}")
        pytest.skip("needs a PostgreSQL server on 127.0.0.1:5432 (user root, trusted)")
    yield name
    administer(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", f"DROP ROLE IF EXISTS {name}")


def made(name: str) -> str:
    """The address of a database made as the page says."""
    title = "PostgreSQL, from an empty server"
    for statement in fenced(title, "sql"):
        administer(re.sub(r"\bfencepost\b", name, statement))
    (line,) = (line for line in fenced(title, "sh") if line.startswith("export FENCEPOST_DATABASE="))
    address = line.partition("=")[2]
    return address.replace("://fencepost:", f"://{name}:").removesuffix("fencepost") + name


def lines(title: str, name: str, folder: Path) -> list[list[str]]:
    """The commands of a section, with the test's own names and folders."""
    own = (line.replace("fencepost:correct", f"{name}:correct") for line in fenced(title, "sh"))
    own = (re.sub(r"(127\.0\.0\.1)/fencepost\b", rf"\1/{name}", line) for line in own)
    return [line.replace("/backups/", f"{folder}/backups/").split() for line in own]


def counts(folder: Path, address: str) -> dict[str, int]:
    found: dict[str, int] = json.loads(run(["fencepost", "db", "status", "--json"], folder, address))["counts"]
    return found


def run(words: list[str], folder: Path, address: str) -> str:
    if words[0] == "fencepost":
        done = runner(folder / "data")(*words[1:], FENCEPOST_DATABASE=address)
        assert done.exit_code == 0, (words, done.output)
        return done.stdout
    copied = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert copied.returncode == 0, (words, copied.stderr)
    return copied.stdout


def test_a_database_from_an_empty_server(name: str, tmp_path: Path) -> None:
    address = made(name)
    lines = [line.split() for line in fenced("PostgreSQL, from an empty server", "sh") if line.startswith("fencepost ")]
    said = [run(words, tmp_path, address) for words in lines]
    assert len(said) == 2 and "from revision none" in said[0] and "turn                0" in said[1]
    engine = sa.create_engine(f"{SERVER}/{name}")
    with engine.connect() as connection:
        owners = connection.exec_driver_sql("SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'")
        assert owners.scalars().all() == [name]
    engine.dispose()


def test_what_is_backed_up_is_restored_and_goes_on(name: str, tmp_path: Path) -> None:
    (tmp_path / "backups").mkdir()
    address, example = made(name), str(EXAMPLE)
    run(["fencepost", "ingest", "--home", "direct", example], tmp_path, address)
    before = counts(tmp_path, address)
    commands = lines("PostgreSQL", name, tmp_path)
    assert [words[0] for words in commands] == ["pg_dump", "cp", "pg_restore", "cp", "fencepost"]
    for words in commands[:2]:
        run(words, tmp_path, address)
    refused = subprocess.run(commands[2], capture_output=True, text=True, check=False)
    assert refused.returncode == 1 and "already exists" in refused.stderr and counts(tmp_path, address) == before
    administer(f"DROP DATABASE {name} WITH (FORCE)", f"CREATE DATABASE {name} OWNER {name} TEMPLATE template0")
    (tmp_path / "data").rename(tmp_path / "lost")
    (tmp_path / "data").mkdir()
    for words in commands[2:]:
        run(words, tmp_path, address)
    assert counts(tmp_path, address) == before and before["session"] == 1
    kept = [len(list((tmp_path / folder / "dumps").rglob("*.zst"))) for folder in ("lost", "data")]
    assert kept == [1, 1]
    run(
        ["fencepost", "ingest", "--home", "direct", str(ROOT / "examples" / "support-desk-clean.jsonl")],
        tmp_path,
        address,
    )
    assert counts(tmp_path, address)["session"] == 2


def test_old_sessions_are_pruned(name: str, tmp_path: Path) -> None:
    address = made(name)
    run(["fencepost", "ingest", "--home", "direct", str(ROOT / "examples")], tmp_path, address)
    engine = sa.create_engine(f"{SERVER}/{name}")
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE session SET ingested_at = now() - interval '91 days'")
        connection.exec_driver_sql("UPDATE dump SET received_at = now() - interval '91 days'")
        failed = connection.exec_driver_sql("SELECT count(*) FROM session WHERE failed_count > 0").scalar_one()
    sessions = counts(tmp_path, address)["session"]
    dry, done = (run(words, tmp_path, address) for words in lines("Keep it small", name, tmp_path))
    assert f"{sessions} sessions with" in dry and 0 < failed < sessions
    assert counted(sessions - failed, "session") + " removed" in done
    with engine.begin() as connection:  # an empty hidden row tells running servers that a session is gone
        left = connection.exec_driver_sql("SELECT count(*) FROM session WHERE deleted_at IS NULL").scalar_one()
    engine.dispose()
    assert left == failed
