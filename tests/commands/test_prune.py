"""`fencepost prune`: what is old goes for good, labels stay, and what is counted before is what goes."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import orm

from tests.commands.stored import BROKEN, Run, dump, runner
from webapp.store.db import database
from webapp.store.labels import labels


@pytest.fixture
def run(tmp_path: Path, data: Path) -> Run:
    """A database with four sessions of a dump each: all but `young` came 100 days ago; `labelled` has a label."""
    run = runner(data)
    for name, text in {"plain": "{}", "failing": BROKEN, "labelled": BROKEN, "young": "{}"}.items():
        run("ingest", "--home", "direct", str(dump(tmp_path / f"{name}.json", name, text)))
    assert run("label", "labelled", "0", "wrong", "--author", "Ada").exit_code == 0
    with closing(sqlite3.connect(tmp_path / "data" / "fencepost.sqlite3")) as connection, connection:
        old = "strftime('%Y-%m-%d %H:%M:%f', 'now', '-100 days')"
        connection.execute(
            f"UPDATE session SET ingested_at = {old}, grown_at = NULL WHERE external_id != CAST('young' AS BLOB)"
        )
        connection.execute(f"UPDATE dump SET received_at = {old} WHERE filename != CAST('young.json' AS BLOB)")
    return run


def sessions(tmp_path: Path) -> set[str]:
    with closing(sqlite3.connect(tmp_path / "data" / "fencepost.sqlite3")) as connection:
        return {
            name.decode() for (name,) in connection.execute("SELECT external_id FROM session WHERE deleted_at IS NULL")
        }


def kept_files(tmp_path: Path) -> int:
    return sum(path.suffix == ".zst" for path in (tmp_path / "data" / "dumps").rglob("*"))


def test_old_sessions_go_with_their_files_and_labelled_ones_stay(run: Run, tmp_path: Path) -> None:
    assert kept_files(tmp_path) == 4
    dry = json.loads(run("prune", "--older-than", "90d", "--dry-run", "--json").stdout)
    assert dry["counts"] | {"raw_bytes": 0} == {"sessions": 2, "turns": 2, "raw_bytes": 0, "labelled": 1, "failed": 0}
    assert sessions(tmp_path) == {"plain", "failing", "labelled", "young"}
    done = json.loads(run("prune", "--older-than", "90d", "--yes", "--json").stdout)
    assert (done["pruned"]["sessions"], done["pruned"]["left"], done["pruned"]["files"]) == (2, 0, 2)
    assert sessions(tmp_path) == {"labelled", "young"} and kept_files(tmp_path) == 2
    again = run("prune", "--older-than", "90d", "--yes")
    assert again.stdout == "0 sessions removed, and 0 kept log files (0 bytes)\n"


def test_failed_sessions_can_stay(run: Run, tmp_path: Path) -> None:
    dry = run("prune", "--older-than", "90d", "--keep", "failed", "--keep", "labelled", "--dry-run").stdout
    assert dry.startswith("1 session with 1 turn (2 bytes of text) would go")
    assert dry.endswith("of that age 1 labelled session and 1 failed session would stay\n")
    run("prune", "--older-than", "90d", "--keep", "failed", "--yes")
    assert sessions(tmp_path) == {"failing", "labelled", "young"}


def test_those_whose_parser_was_not_run_stay_with_the_failed_ones(run: Run, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "data" / "fencepost.sqlite3")) as connection, connection:
        connection.execute("UPDATE session SET strip = 'x' WHERE external_id = CAST('plain' AS BLOB)")
    dry = json.loads(run("prune", "--older-than", "90d", "--keep", "failed", "--dry-run", "--json").stdout)
    assert (dry["counts"]["sessions"], dry["counts"]["failed"]) == (0, 2)


def test_a_session_that_grew_lately_by_an_import_is_not_old(run: Run, tmp_path: Path) -> None:
    grown = dump(tmp_path / "grown.json", "plain", "{}", '{"n": 2}')
    assert run("ingest", "--home", "direct", str(grown)).stdout.count("1 session") == 1
    repeated = json.loads(dump(tmp_path / "repeated.json", "failing", BROKEN).read_text())
    (tmp_path / "repeated.json").write_text(json.dumps(repeated, indent=1))
    assert run("ingest", "--home", "direct", str(tmp_path / "repeated.json")).exit_code == 0
    dry = json.loads(run("prune", "--older-than", "90d", "--dry-run", "--json").stdout)
    assert (dry["counts"]["sessions"], dry["counts"]["turns"], dry["counts"]["labelled"]) == (1, 1, 1)
    run("prune", "--older-than", "90d", "--yes")
    assert sessions(tmp_path) == {"plain", "labelled", "young"}


def test_a_session_with_a_history_of_labels_stays(run: Run, tmp_path: Path) -> None:
    assert run("label", "failing", "0", "wrong", "--author", "Ada").exit_code == 0
    engine = database.connect(f"sqlite:///{tmp_path / 'data' / 'fencepost.sqlite3'}")
    with orm.Session(engine) as db:
        assert len(labels.undo(db, "Ada")) == 1
    engine.dispose()
    dry = json.loads(run("prune", "--older-than", "90d", "--keep", "failed", "--dry-run", "--json").stdout)
    assert (dry["counts"]["sessions"], dry["counts"]["labelled"], dry["counts"]["failed"]) == (1, 2, 0)
    done = json.loads(run("prune", "--older-than", "90d", "--yes", "--json").stdout)
    assert (done["pruned"]["sessions"], done["pruned"]["left"]) == (1, 0)
    assert sessions(tmp_path) == {"failing", "labelled", "young"}


def test_what_was_pruned_can_come_in_again(run: Run, tmp_path: Path) -> None:
    run("prune", "--older-than", "90d", "--yes")
    assert run("ingest", str(tmp_path / "plain.json")).exit_code == 0
    assert sessions(tmp_path) == {"plain", "labelled", "young"}


def test_nobody_is_there_to_ask(run: Run, tmp_path: Path) -> None:
    refused = run("prune", "--older-than", "90d")
    assert refused.exit_code == 2 and "--yes" in refused.stderr
    assert len(sessions(tmp_path)) == 4


@pytest.mark.parametrize("age", ["90", "d", "-1d", "1y", "3m", "٣d"])
def test_a_bad_age_is_refused_in_words(run: Run, age: str) -> None:
    refused = run("prune", f"--older-than={age}", "--yes")
    assert refused.exit_code == 2 and "90d, 12w or 36h" in refused.stderr


def test_an_age_before_the_year_1_is_refused_in_words(run: Run) -> None:
    refused = run("prune", "--older-than", "999999w", "--yes")
    assert refused.exit_code == 2 and "999999w ago is before the year 1" in refused.stderr
