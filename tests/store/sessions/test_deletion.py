"""Deleting sessions: hidden at once, undone for a while, gone for good after it, back when they come in again."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.jobs.workers import somebody_waits
from tests.store.made import BROKEN, CALL, Bring, entry, on_sqlite, windlass
from tests.until import until
from webapp.store.labels import labels
from webapp.store.models import Label, Parse, Session, Turn
from webapp.store.sessions import deletion, session_list, sessions, turns
from webapp.store.sessions.filters import Filters

AT_ONCE = timedelta(seconds=-5)


@pytest.fixture
def two(bring: Bring) -> list[str]:
    """The keys of two sessions of a dump each."""
    return [bring(windlass(name, [entry(BROKEN), entry(CALL)])).keys[0] for name in ("one", "two")]


def ids(db: orm.Session, filters: Filters | None = None) -> list[str]:
    return sorted(line.external_id for line in session_list.page(db, filters or Filters()).sessions)


def count(db: orm.Session, table: type) -> int:
    return db.scalar(sa.select(sa.func.count()).select_from(table)) or 0


def test_sessions_are_deleted_in_the_order_in_which_labels_hold_them(
    two: list[str], engine: sa.Engine, db: orm.Session
) -> None:
    first_turn, last_turn = (turns.find(db, sessions.find(db, key), 0).turn for key in two)
    labels.put(db, first_turn, author="ann", judgement="missed")  # its row stands behind the other one by now
    with ThreadPoolExecutor(1) as pool, orm.Session(engine) as own, orm.Session(engine) as third:
        labels.hold(db, first_turn)
        deleted = pool.submit(deletion.delete, own, two)
        until(lambda: engine.dialect.name == "sqlite" or somebody_waits(third))
        labels.hold(db, last_turn)
        db.commit()
        assert sorted(deleted.result()) == sorted(two)


def test_a_deleted_session_is_nowhere_and_comes_back(two: list[str], db: orm.Session) -> None:
    assert deletion.delete(db, [two[0], "unknown"]) == [two[0]]
    assert ids(db) == ["two"]
    assert ids(db, Filters(q="one")) == []
    page = session_list.page(db, Filters())
    assert (page.total, page.hidden, page.counts.all) == (1, 0, 1)
    for ident in ("one", two[0]):
        with pytest.raises(sessions.NoSuchSession):
            sessions.find(db, ident)
    assert sessions.revisions(db, "one") == []
    assert deletion.delete(db, [two[0]]) == []
    assert deletion.undo(db, [two[0]]) == [two[0]]
    assert ids(db) == ["one", "two"]


@on_sqlite
def test_the_revision_before_a_deleted_one_is_the_newest(bring: Bring, db: orm.Session) -> None:
    first = bring(windlass("s", [entry(CALL)])).keys[0]
    second = bring(windlass("s", [entry(BROKEN)])).keys[0]
    deletion.delete(db, [second])
    found = sessions.find(db, "s")
    assert (found.key, found.newest) == (first, True)


@on_sqlite
def test_what_is_hidden_can_be_removed_at_once(two: list[str], engine: sa.Engine, db: orm.Session) -> None:
    numbers = list(db.scalars(sa.select(Session.id)))
    deletion.delete(db, two)
    assert deletion.purge_just_hidden(engine, numbers) == 2
    assert (count(db, Session), count(db, Turn)) == (0, 0)


def test_purged_ones_are_gone_for_good(two: list[str], engine: sa.Engine, db: orm.Session) -> None:
    deletion.delete(db, [two[1]])
    assert deletion.purge(engine) == 0
    assert deletion.purge(engine, older_than=AT_ONCE) == 1
    assert deletion.undo(db, [two[1]]) == []
    assert (count(db, Session), count(db, Turn), count(db, Parse)) == (1, 2, 4)
    assert ids(db, Filters(q="run_code")) == ["one"]


@on_sqlite
def test_what_is_written_after_a_purge_is_seen(
    two: list[str], bring: Bring, engine: sa.Engine, db: orm.Session
) -> None:
    """The purged session had the highest `changed`: the next one may not get a number that was read already."""
    assert ids(db) == ["one", "two"]
    deletion.delete(db, [two[1]])
    assert ids(db) == ["one"]
    deletion.purge(engine, older_than=AT_ONCE)
    bring(windlass("three", [entry(CALL)]))
    db.rollback()
    assert ids(db) == ["one", "three"]


@on_sqlite
def test_labels_are_never_lost(two: list[str], engine: sa.Engine, db: orm.Session) -> None:
    labels.put(db, turns.find(db, sessions.find(db, "one"), 0).turn, author="ann", judgement="missed")
    deletion.delete(db, two)
    assert deletion.purge(engine, older_than=AT_ONCE) == 1
    assert count(db, Label) == 1
    assert deletion.undo(db, two) == [two[0]]


def test_the_same_bytes_bring_deleted_and_purged_sessions_back(
    bring: Bring, engine: sa.Engine, db: orm.Session
) -> None:
    documents = [windlass(name, [entry(CALL)]) for name in ("one", "two", "three")]
    keys = [bring(document).keys[0] for document in documents]
    deletion.delete(db, keys[:2])
    assert not bring(documents[0]).created
    assert ids(db) == ["one", "three"]
    deletion.purge(engine, older_than=AT_ONCE)
    assert bring(documents[1]).created
    assert ids(db) == ["one", "three", "two"]


@on_sqlite
def test_growth_brings_a_deleted_session_back(bring: Bring, db: orm.Session) -> None:
    deletion.delete(db, bring(windlass("s", [entry(CALL)])).keys)
    bring(windlass("s", [entry(CALL), entry(BROKEN)]))
    assert sessions.find(db, "s").turn_count == 2
    assert ids(db) == ["s"]


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five turns make a session long."""
    monkeypatch.setattr(deletion, "AT_ONCE", 2)


LONG = windlass("long", [entry(f"{number}: {CALL}") for number in range(5)])


def test_a_long_session_goes_in_parts(bring: Bring, engine: sa.Engine, db: orm.Session, parts: None) -> None:
    bring(windlass("short", [entry(CALL)]))
    deletion.delete(db, bring(LONG).keys)
    left: list[int] = []

    def look(connection: sa.Connection) -> None:
        left.append(connection.scalar(sa.select(sa.func.count()).select_from(Turn)) or 0)

    sa.event.listen(engine, "commit", look)
    assert deletion.purge(engine, older_than=AT_ONCE) == 1
    sa.event.remove(engine, "commit", look)
    assert sorted(set(left), reverse=True) == [5, 3, 1]
    assert (count(db, Session), count(db, Turn), count(db, Parse)) == (1, 1, 2)
    assert ids(db, Filters(q="run_code")) == ["short"]


@on_sqlite
def test_of_two_that_purge_none_removes_what_came_in_the_place_of_a_session(
    bring: Bring, engine: sa.Engine, db: orm.Session, parts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    deletion.delete(db, bring(LONG).keys)
    purged: list[int] = []
    writing_long = deletion.writing_long

    @contextmanager
    def behind_another(engine: sa.Engine) -> Iterator[sa.Connection]:
        monkeypatch.setattr(deletion, "writing_long", writing_long)
        purged.append(deletion.purge(engine, older_than=AT_ONCE))
        bring(windlass("new", [entry(CALL)]))
        with writing_long(engine) as connection:
            yield connection

    monkeypatch.setattr(deletion, "writing_long", behind_another)
    assert (deletion.purge(engine, older_than=AT_ONCE), purged) == (0, [1])
    assert ids(db) == ["new"] and count(db, Turn) == 1


@on_sqlite
def test_one_that_was_interrupted_cannot_be_found_and_goes_with_the_next_purge(
    bring: Bring, engine: sa.Engine, db: orm.Session, parts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring(windlass("short", [entry(CALL)]))
    keys = bring(LONG).keys
    deletion.delete(db, keys)
    removed = deletion._remove

    def die_over_the_second(connection: sa.Connection, session_id: int, first: int) -> None:
        if first == 2:
            raise KeyboardInterrupt
        removed(connection, session_id, first)

    monkeypatch.setattr(deletion, "_remove", die_over_the_second)
    with pytest.raises(KeyboardInterrupt):
        deletion.purge(engine, older_than=AT_ONCE)
    monkeypatch.setattr(deletion, "_remove", removed)
    assert count(db, Turn) == 5
    assert deletion.undo(db, keys) == []
    assert bring(LONG).created
    assert sessions.find(db, "long").turn_count == 5
    db.rollback()
    assert deletion.purge(engine, older_than=AT_ONCE) == 1
    assert ids(db) == ["long", "short"]
    assert (count(db, Session), count(db, Turn), count(db, Parse)) == (2, 6, 12)
