"""What revisions compute for each row is committed in chunks: killed in between, an upgrade continues where it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests import forking
from tests.forking import ForkedProcess
from tests.store.db.first_revision import first_revision, upgrade_whole
from webapp.store.db import database, upgrading
from webapp.store.db.upgrading import Progress
from webapp.store.models import Base

COPIES = 60
SESSIONS, PARSES = 2 * (COPIES + 1), 9 * (COPIES + 1)
PROGRAM = """
import sys
from webapp.store.db import database
engine, chunks = database.connect(sys.argv[1]), int(sys.argv[2])
said = []

def say(at):
    said.append(at)
    print(at.revision, at.done, at.total, flush=True)
    if len(said) == chunks:
        sys.stdin.read()

database.migrate(engine, say)
"""
"""An upgrade, which stands still once so many chunks are committed."""


@pytest.fixture
def old(empty: sa.Engine) -> sa.Engine:
    first_revision(empty, COPIES)
    empty.dispose()
    return empty


def started(engine: sa.Engine, chunks: int = 0) -> ForkedProcess:
    return forking.script(PROGRAM, engine.url.render_as_string(hide_password=False), str(chunks), text=True)


def killed_after(engine: sa.Engine, chunks: int) -> list[str]:
    """What an upgrade said that is killed once it has committed so many chunks."""
    process = started(engine, chunks)
    lines = [process.stdout.readline() for _ in range(chunks)]
    process.kill()
    process.communicate()
    return lines


def contents(engine: sa.Engine) -> dict[str, list[tuple[Any, ...]]]:
    """All rows, but for the number that PostgreSQL's transactions give a change."""
    with engine.connect() as connection:
        return {
            table.name: [
                tuple(row)
                for row in connection.execute(
                    sa.select(*(column for column in table.c if column.name != "changed")).order_by(*table.primary_key)
                )
            ]
            for table in Base.metadata.sorted_tables
        }


def last_steps(engine: sa.Engine) -> list[Progress]:
    """The last that each revision says that has something to fill in."""
    steps = [Progress("0002", SESSIONS, SESSIONS), Progress("0006", PARSES, PARSES)]
    return [*steps, Progress("0020", SESSIONS, SESSIONS)] if engine.dialect.name == "postgresql" else steps


@pytest.fixture
def in_one_go(tmp_path: Path) -> dict[str, list[tuple[Any, ...]]]:
    engine = database.connect(f"sqlite:///{tmp_path / 'whole.sqlite3'}")
    first_revision(engine, COPIES)
    upgrade_whole(engine, "head")
    rows = contents(engine)
    engine.dispose()
    return rows


def test_killed_again_and_again_it_ends_as_in_one_go(
    old: sa.Engine, in_one_go: dict[str, list[tuple[Any, ...]]]
) -> None:
    revisions = set()
    for chunks in (1, 3, 4, 1):
        assert killed_after(old, chunks)[-1]
        revisions.add(database.revision(old))
    assert len(revisions) == 4 and all(upgrading.split(revision)[1] for revision in revisions)
    last = started(old)
    last.communicate()
    assert last.returncode == 0 and database.revision(old) == database.HEAD
    assert contents(old) == in_one_go


def test_two_at_once_end_as_in_one_go(old: sa.Engine, in_one_go: dict[str, list[tuple[Any, ...]]]) -> None:
    processes = [started(old), started(old)]
    said = [process.communicate()[0].splitlines() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert {line.split()[0] for lines in said for line in lines} == {step.revision for step in last_steps(old)}
    assert contents(old) == in_one_go


def test_it_says_how_many_rows_it_has_filled_in(old: sa.Engine) -> None:
    steps: list[Progress] = []
    database.migrate(old, steps.append)
    sessions = [step for step in steps if step.revision == "0002"]
    assert [step.done for step in sessions] == [*range(20, SESSIONS, 20), SESSIONS]
    assert {step.total for step in sessions} == {SESSIONS}
    last = {step.revision: step for step in steps}
    assert list(last.values()) == last_steps(old)


def test_a_resumed_upgrade_counts_what_was_done_before(old: sa.Engine) -> None:
    class Interrupted(Exception):
        pass

    def interrupt(progress: Progress) -> None:
        if progress.done >= 40:
            raise Interrupted

    with pytest.raises(Interrupted):
        database.migrate(old, interrupt)
    assert database.revision(old) == f"0002+{40}"
    steps: list[Progress] = []
    database.migrate(old, steps.append)
    assert steps[0] == Progress("0002", 60, SESSIONS)


def test_a_program_that_does_not_know_the_revision_refuses(old: sa.Engine) -> None:
    with database.writing(old) as connection:
        database.set_revision(connection, "9999+12")
    with pytest.raises(database.NewerDatabase, match="9999"):
        database.migrate(old)


def test_a_new_database_takes_one_transaction(empty: sa.Engine) -> None:
    steps: list[Progress] = []
    database.migrate(empty, steps.append)
    assert steps == [] and database.revision(empty) == database.HEAD
