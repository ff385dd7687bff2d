"""A copy of a database is the same in every row, on either kind; one that was interrupted is none."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.conftest import SERVER, administer
from tests.store.made import BROKEN, CALL, Bring, entry, on_sqlite, windlass
from tests.store.searching import found_in_all
from webapp.config import Settings
from webapp.store.db import database
from webapp.store.ingest.start import ingest
from webapp.store.jobs import database_copy
from webapp.store.jobs.database_copy import NotCopied
from webapp.store.labels import labels
from webapp.store.models import Base, LiveSpan, Session, Turn

_numbers = itertools.count()


@pytest.fixture(params=["to_sqlite", pytest.param("to_postgres", marks=pytest.mark.postgres)])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[sa.Engine]:
    """A database of the test's own without any tables."""
    if request.param == "to_sqlite":
        engine = database.connect(f"sqlite:///{tmp_path / 'copy.sqlite3'}")
        yield engine
        engine.dispose()
        return
    name = f"{request.getfixturevalue('postgres')}_copy_{next(_numbers)}"
    administer(f"CREATE DATABASE {name}")
    engine = database.connect(f"{SERVER}/{name}")
    yield engine
    engine.dispose()
    administer(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def source(engine: sa.Engine, bring: Bring) -> sa.Engine:
    """Sessions of several turns, duplicates, hostile texts, names whose order differs by collation, and a label."""
    for number in range(4):
        twice = entry(f"twice {number}", role="agent")
        texts = [CALL, BROKEN, "NUL \0 and \ud800", f"{number} é Ünïcode 😀", CALL * 40]
        bring(windlass(f"session {number} \0", [entry(text, model=f"m-{number}") for text in texts] + [twice, twice]))
    with engine.begin() as connection:
        first = connection.scalar(sa.select(sa.func.min(Turn.id)))
        high = connection.scalar(sa.select(sa.func.max(Session.id)))
        for span in (b"\0" * 8, b"\xff" * 8):
            values = {"trace": b"\x80" * 16, "span": span, "session_id": high, "started": -(2**62), "entry": 0}
            connection.execute(sa.insert(LiveSpan).values(**values, ordinal=0, turns=1))
    with orm.Session(engine) as db:
        labels.put(db, db.get_one(Turn, first), author="ann", judgement="missed", note="a note")
    return engine


def _rows(engine: sa.Engine) -> dict[str, list[str]]:
    """Every row of every table through the models, apart from what each database counts or derives by itself."""
    own = {("session", "changed"), ("finding", "id")}
    with engine.connect() as connection:
        return {
            table.name: sorted(
                repr({key: value for key, value in row.items() if (table.name, key) not in own})
                for row in connection.execute(sa.select(table)).mappings()
            )
            for table in Base.metadata.sorted_tables
        }


def _found(engine: sa.Engine) -> list[str]:
    """The excerpts that a search for each of some words finds."""
    with engine.connect() as connection:
        return [
            repr([(match.turn_id, match.where, match.fragments) for match in found_in_all(connection, word)])
            for word in ("run_code", "ünïcode", "note", "session", "absent")
        ]


def test_a_copy_is_the_same_in_every_row_finds_the_same_and_can_be_written(
    source: sa.Engine, target: sa.Engine, tmp_path: Path
) -> None:
    copies = database_copy.copy(source, target)
    assert _rows(target) == _rows(source)
    assert _found(target) == _found(source)
    assert copies["session"] == 4 and copies["label"] == 1
    assert database.revision(target) == database.HEAD

    settings = Settings(data=tmp_path / "data", database=target.url.render_as_string(hide_password=False))
    text = json.dumps(windlass("new", [entry(CALL)])).encode()
    assert ingest(target, settings, io.BytesIO(text), filename="new.json").new_turns == 1
    with target.connect() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(Session)) == 5


class Stop(Exception):
    pass


@on_sqlite
def test_interrupted_it_has_copied_nothing(source: sa.Engine, target: sa.Engine) -> None:
    def stop(name: str, finished: int, _total: int) -> None:
        if name == "turn" and finished:
            raise Stop

    with pytest.raises(Stop):
        database_copy.copy(source, target, stop)
    assert not any(_rows(target).values())
    database_copy.copy(source, target)
    assert _rows(target) == _rows(source)


@on_sqlite
@pytest.mark.parametrize("target", ["to_sqlite"], indirect=True)
def test_what_cannot_be_copied_is_refused_in_words(source: sa.Engine, target: sa.Engine, tmp_path: Path) -> None:
    empty = database.connect(f"sqlite:///{tmp_path / 'empty.sqlite3'}")
    with pytest.raises(NotCopied, match="at revision none"):
        database_copy.copy(empty, target)
    database.migrate(empty)
    with pytest.raises(NotCopied, match="has rows in its table 'dump'"):
        database_copy.copy(empty, source)
    empty.dispose()
