"""Runs in Parquet parts: the same comparison as the database's own, whatever was removed, killed or damaged."""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.made import BROKEN, CALL, Bring, entry, windlass
from webapp.config import Settings
from webapp.exports.base import MissingLibrary
from webapp.extras import install_extra
from webapp.store.compare import cells, comparing, listing
from webapp.store.files import file_store
from webapp.store.jobs import chunk_writing, part_chunks, pruning, run_queue, runs
from webapp.store.models import Parse, Run, RunPart, RunPartRemoval, Turn
from webapp.store.parts import manifest, part_files, reading
from webapp.store.sessions import deletion, sessions
from webapp.store.sessions.filters import Filters

TEXTS = (CALL, BROKEN, "Nothing.", '{"a": 1, "a": 2,}', '{"a": 1}', "{}", '{"b": [1,]}', 'x {"a": 1} y {"b": 2}')
DEEP = "[" * 2_000 + "]" * 2_000
PROFILES = ("direct", "first-to-last-brace", "master-before")
PAIRS = [(a, b) for a in ("fencepost", *PROFILES) for b in ("fencepost", *PROFILES) if a != b]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part_chunks, "AT_ONCE", 7)
    monkeypatch.setattr(comparing.profile_results, "SECONDS", float("inf"))


def replay(engine: sa.Engine, settings: Settings, profile: str, **options: Any) -> runs.Replay:
    return runs.replay(engine, settings, profile, processes=1, **{"parts": True, **options})


def seen(db: orm.Session, settings: Settings, pairs: Any) -> list[Any]:
    """Everything that a comparison shows of each pair: numbers, and the pages of all cells by group and model."""
    shown: list[Any] = []
    for a, b in pairs:
        for filters in (Filters(), Filters(model="m1")):
            shown.append((a, b, comparing.compare(db, a, b, filters, settings).as_dict()))
            about: dict[str, Any] = {"by": "group", "limit": 5, "settings": settings}
            shown += [listing.page(db, a, b, cell, filters, **about) for cell in cells.CELLS]
    db.rollback()
    return shown


@pytest.mark.parametrize("seed", range(3))
def test_parts_and_database_give_the_same(
    seed: int, engine: sa.Engine, settings: Settings, db: orm.Session, bring: Bring
) -> None:
    chance = random.Random(seed)
    for number in range(8):
        texts = chance.choices((*TEXTS, DEEP), k=chance.choice((1, 3, 20)))
        entries = [entry(text, model=chance.choice(("m1", "m2"))) for text in texts]
        bring(windlass(f"s{number}", entries), filename=f"{number}.json")
        if chance.random() < 0.4:
            replay(engine, settings, chance.choice(PROFILES), parts=chance.random() < 0.7)
    for profile in chance.sample(PROFILES, k=2):
        replay(engine, settings, profile)
    with orm.Session(engine) as deleting:
        deletion.delete(deleting, [sessions.find(deleting, f"s{chance.randrange(8)}").key])
    pairs = chance.sample(PAIRS, k=3)
    in_parts = seen(db, settings, pairs)
    with engine.begin() as connection:
        parts = connection.execute(sa.select(RunPart.profile).distinct()).scalars().all()
        covered = {name: connection.execute(_turns_of(connection, settings, name)).all() for name in parts}
    assert parts
    with engine.begin() as connection:
        connection.execute(sa.delete(RunPart))
    for name, rows in covered.items():
        _store(engine, settings, name, {row.id for row in rows})
    db.expire_all()
    assert seen(db, settings, pairs) == in_parts


def _turns_of(connection: sa.Connection, settings: Settings, profile: str) -> Any:
    ids = connection.scalars(sa.select(Turn.id)).all()
    return sa.select(Turn.id).where(Turn.id.in_(reading.of_turns(connection, settings, profile, ids)))


def _store(engine: sa.Engine, settings: Settings, profile: str, turn_ids: set[int]) -> None:
    """Run a profile over everything into the database, and leave what it made of these turns and of older ones."""
    with engine.connect() as connection:
        before = set(connection.scalars(sa.select(Parse.turn_id).where(Parse.profile == profile)))
    runs.replay(engine, settings, profile, processes=1)
    with engine.begin() as connection:
        mine = sa.and_(Parse.profile == profile, Parse.turn_id.not_in(before | turn_ids))
        connection.execute(sa.delete(Parse).where(mine))


@pytest.fixture
def stored(bring: Bring) -> None:
    for number in range(3):
        bring(windlass(f"s{number}", [entry(text, model="m1") for text in TEXTS]), filename=f"{number}.json")


def counts(db: orm.Session, settings: Settings) -> dict[str, int]:
    counted = comparing.compare(db, "direct", "fencepost", Filters(), settings).counts
    db.rollback()
    return {cell: count for cell, count in counted.items() if count}


WHOLE = {"both_same": 6, "only_b": 15, "neither": 3}


def test_a_run_counts_the_same_and_is_not_parsed_twice(
    stored: None, engine: sa.Engine, settings: Settings, db: orm.Session
) -> None:
    run = replay(engine, settings, "direct")
    assert run.state == "done" and run.new == 24 and run.counts["responses"] == 24
    assert db.scalar(sa.select(sa.func.count()).where(Parse.profile == "direct")) == 0
    assert db.scalar(sa.select(sa.func.sum(RunPart.responses))) == 24
    db.rollback()
    again = replay(engine, settings, "direct")
    assert (again.new, again.counts) == (0, run.counts)
    assert counts(db, settings) == WHOLE


def test_a_trace_stands_once_a_text_and_only_where_fencepost_reads_otherwise(
    stored: None, engine: sa.Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyarrow import parquet

    monkeypatch.setattr(part_chunks, "AT_ONCE", 1000)
    replay(engine, settings, "direct")
    [file] = file_store(settings).files(part_files.FOLDER)
    table = parquet.read_table(settings.data / file.name).to_pylist()
    assert len(table) == 24 and len({row["text"] for row in table}) == len(TEXTS)
    traced = [row for row in table if row["trace"]]
    assert len(traced) == 5 and {row["verdict"] for row in traced} == {"failed"}


def test_from_a_size_on_runs_write_parts_by_themselves(stored: None, engine: sa.Engine, settings: Settings) -> None:
    assert "parts" not in replay(engine, replace(settings, parts_from=25), "direct", parts=False).scope
    assert "parts" not in replay(engine, replace(settings, parts_from=0), "direct", parts=False).scope
    assert replay(engine, replace(settings, parts_from=24), "master-before", parts=False).scope["parts"] is True


def test_a_killed_chunk_does_not_count_and_its_file_is_purged(
    stored: None, engine: sa.Engine, settings: Settings, db: orm.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    add, added = manifest.add, []

    def die(*about: Any) -> None:
        added.append(about)
        if len(added) == 2:
            raise KeyboardInterrupt
        add(*about)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(chunk_writing.manifest, "add", die)
        replay(engine, settings, "direct")
    assert counts(db, settings)["not_run_a"] == 16
    assert len(list(file_store(settings).files(part_files.FOLDER))) == 2
    assert manifest.purge(engine, settings) == 0
    assert replay(engine, settings, "direct").new == 16
    monkeypatch.setattr(manifest, "UNCLAIMED", -1.0)
    assert manifest.purge(engine, settings) == 1
    assert counts(db, settings) == WHOLE


def test_hidden_and_removed_sessions_are_in_no_cell_nor_in_a_file(
    stored: None, engine: sa.Engine, settings: Settings, db: orm.Session, bring: Bring, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_chunks, "AT_ONCE", 1000)
    replay(engine, settings, "direct")
    deletion.delete(db, [sessions.find(db, "s1").key])
    rest = {"both_same": 4, "only_b": 10, "neither": 2}
    assert counts(db, settings) == rest
    assert deletion.purge(engine, older_than=timedelta(seconds=-1)) == 1
    assert counts(db, settings) == rest
    bring(windlass("new", [entry(CALL)]), filename="new.json")
    assert counts(db, settings) == {**rest, "not_run_a": 1}
    manifest.purge(engine, settings)
    assert (db.scalar(sa.select(RunPart.responses)), db.scalar(sa.select(RunPartRemoval.id))) == (16, None)
    db.rollback()
    assert len(list(file_store(settings).files(part_files.FOLDER))) == 1
    assert counts(db, settings) == {**rest, "not_run_a": 1}


def test_a_missing_or_damaged_part_is_named_and_written_anew(
    stored: None, engine: sa.Engine, settings: Settings, db: orm.Session
) -> None:
    replay(engine, settings, "direct")
    first, second = db.scalars(sa.select(RunPart.name).order_by(RunPart.id).limit(2))
    path = settings.data / first
    shutil.copyfile(path, settings.data / "kept")
    path.unlink()
    with pytest.raises(part_files.PartDamaged, match=rf"{first} in .*data, 8 responses of run \d+ .* is not there"):
        counts(db, settings)
    content = bytearray((settings.data / "kept").read_bytes())
    content[20] ^= 1
    path.write_bytes(content)
    with pytest.raises(part_files.PartDamaged, match="another content"):
        counts(db, settings)
    (settings.data / second).write_bytes(b"PAR1")
    assert replay(engine, settings, "direct").new == 16
    db.expire_all()
    assert counts(db, settings) == WHOLE


def test_without_the_libraries_the_command_is_named(
    stored: None, engine: sa.Engine, settings: Settings, db: orm.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay(engine, settings, "direct")
    monkeypatch.setattr(part_files, "find_spec", lambda _: None)
    with pytest.raises(MissingLibrary, match=install_extra("analytics")):
        replay(engine, settings, "master-before")
    with pytest.raises(MissingLibrary, match=install_extra("analytics")):
        counts(db, settings)
    assert db.scalar(sa.select(sa.func.count()).select_from(Run)) == 1
    large = replace(settings, parts_from=1)
    assert "parts" not in runs.replay(engine, large, "master-before", processes=1).scope


@pytest.mark.parametrize("store", ["memory://parts-test", None])
def test_parts_lie_in_the_store_or_in_a_folder_of_any_name(
    store: str | None, stored: None, engine: sa.Engine, settings: Settings, db: orm.Session, tmp_path: Path
) -> None:
    elsewhere = replace(settings, store=store, data=tmp_path / "it's [one] *")
    replay(engine, elsewhere, "direct")
    assert counts(db, elsewhere) == WHOLE
    name = db.scalars(sa.select(RunPart.name)).first()
    file_store(elsewhere).remove(str(name))
    with pytest.raises(part_files.PartDamaged, match="is not there"):
        counts(db, elsewhere)


def test_a_newer_version_goes_before_an_older_one(
    stored: None, engine: sa.Engine, settings: Settings, db: orm.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.store.jobs.test_runs import Newer

    replay(engine, settings, "direct")
    monkeypatch.setattr(runs.parsing, "profile", lambda _: Newer(name="direct"))
    assert replay(engine, settings, "direct").counts["failed"] == 24
    monkeypatch.undo()
    monkeypatch.setattr(comparing.profile_results, "SECONDS", float("inf"))
    assert counts(db, settings) == {"only_b": 21, "neither": 3}


def test_a_run_stops_where_it_is_cancelled(
    stored: None, engine: sa.Engine, settings: Settings, db: orm.Session
) -> None:
    def cancel(_done: int, _total: int) -> None:
        with engine.connect() as connection:
            number = connection.scalar(sa.select(sa.func.max(Run.id)))
        run_queue.cancel(engine, number or 0)

    run = replay(engine, settings, "direct", on_progress=cancel)
    assert (run.state, run.counts["responses"]) == ("cancelled", 8)
    assert counts(db, settings)["not_run_a"] == 16


def test_prune_leaves_nothing_of_old_sessions_in_parts(
    stored: None, engine: sa.Engine, settings: Settings, bring: Bring
) -> None:
    replay(engine, settings, "direct")
    bring(windlass("last", [entry(CALL)]), filename="last.json")
    pruning.prune(engine, settings, datetime.now(UTC) + timedelta(days=1))
    with engine.connect() as connection:
        assert connection.scalar(sa.select(RunPart.id)) is None
    assert not list(file_store(settings).files(part_files.FOLDER))
