"""The checks of `benchmarks.reliability` find what is lost, doubled or miscounted, and nothing where all is right."""

from __future__ import annotations

import io
import shutil
import subprocess
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa

from benchmarks.reliability import exact
from benchmarks.reliability.ledger import Ledger, Maker, Upload
from benchmarks.reliability.processes import children, kill_pid
from webapp.config import Settings
from webapp.store.db import database
from webapp.store.ingest.start import ingest
from webapp.store.models import Parse, Session


@pytest.fixture
def world(tmp_path: Any, migrated: Any) -> Iterator[Any]:
    """A database with what two uploads brought, and the ledger of them."""
    file = shutil.copyfile(migrated, tmp_path / "store.sqlite3")
    settings = Settings(data=tmp_path, database=f"sqlite:///{file}")
    engine = database.connect(settings.database)
    ledger = Ledger()
    maker = Maker(ledger, "seed", "m", ("sync",))
    for _ in range(2):
        upload = maker.upload()
        ingest(engine, settings, io.BytesIO(upload.body()), filename=upload.name)
        ledger.upload_acknowledged(upload)

    def value(query: Any) -> Any:
        with engine.connect() as connection:
            return connection.scalar(query)

    yield SimpleNamespace(engine=engine, settings=settings, database=None, value=value, ledger=ledger)
    engine.dispose()


def execute(world: Any, statement: Any) -> None:
    with world.engine.begin() as connection:
        connection.execute(statement)


def test_nothing_is_wrong_where_all_is_there(world: Any) -> None:
    assert not [*exact.acknowledged(world, world.ledger), *exact.labels(world, world.ledger)]
    assert not [*exact.whole(world), *exact.recounted(world), *exact.kept(world, 0)]


def test_what_was_acknowledged_and_is_not_there_is_named(world: Any) -> None:
    name, texts = next(iter(world.ledger.sessions.items()))
    world.ledger.upload_acknowledged(Upload("sync", {"lost": ["a"], name: [*texts, "more"]}, "a.jsonl"))
    assert sorted(exact.acknowledged(world, world.ledger)) == sorted(
        [f"session {name} has {len(texts)} texts, not [{len(texts) + 1}]", "session lost has 0 texts, not [1]"]
    )


def test_what_was_sent_and_not_acknowledged_may_be_there_whole_or_not_at_all(world: Any) -> None:
    name, texts = next(iter(world.ledger.sessions.items()))
    world.ledger.open_uploads.append(Upload("sync", {"new": ["a"], name: [*texts, "more"]}, "a.jsonl"))
    assert not list(exact.acknowledged(world, world.ledger))
    world.ledger.sessions[name] = texts[:-1]
    assert len(list(exact.acknowledged(world, world.ledger))) == 1


def test_a_lost_label_and_a_label_that_was_counted_twice_are_named(world: Any) -> None:
    name = next(iter(world.ledger.sessions))
    world.ledger.label_sent((name, 0, "ann"), "right")
    world.ledger.label_acknowledged((name, 0, "ann"), "right")
    execute(world, sa.update(Session).where(Session.external_id == name).values(label_count=1))
    said = list(exact.labels(world, world.ledger))
    assert len(said) == 3 and "is None, not one of ['right']" in said[0] and "0 events; 1" in said[1]
    assert said[2].endswith("says 1 labelled responses and has 0")


def test_a_wrong_counter_and_a_missing_parse_are_named(world: Any) -> None:
    execute(world, sa.update(Session).values(failed_count=77))
    said = list(exact.recounted(world))
    assert len(said) == len(world.ledger.sessions) and all("failed_count is 77" in one for one in said)
    execute(world, sa.delete(Parse).where(Parse.profile == "fencepost"))
    count = sum(map(len, world.ledger.sessions.values()))
    assert next(iter(exact.whole(world))) == f"{count} responses without a parse"


def test_a_kill_reaches_all_that_a_process_started(tmp_path: Any) -> None:

    with subprocess.Popen(["sh", "-c", "sleep 60 & echo; wait"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        under = children(process.pid)
        assert len(under) == 1
        for pid in (process.pid, *under):
            kill_pid(pid)
        assert process.wait() == -9
