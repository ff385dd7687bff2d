"""Transactions of several sessions: on PostgreSQL one is committed while the next is read, or it is an error."""

from __future__ import annotations

import threading

import pytest
import sqlalchemy as sa

from webapp.store import search
from webapp.store.ingest.batches import Batch
from webapp.store.ingest.beside import Outcomes

pytestmark = [pytest.mark.postgres, pytest.mark.parametrize("url", ["postgres"], indirect=True)]
FIRST, OTHER = (search.Note("note", 10**15 + number, "a note of one test alone") for number in range(2))


def stored(engine: sa.Engine, note: search.Note) -> int:
    with engine.connect() as connection:
        query = sa.text("SELECT count(*) FROM search_note WHERE rowid = :id")
        return connection.execute(query, {"id": note.key}).scalar_one()


def test_outcomes_are_said_once_they_are_sure(engine: sa.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    committed: list[Outcomes] = []
    batch, goes_on, flush = Batch[int](engine, committed.append), threading.Event(), search.Pending.flush

    def slow(pending: search.Pending, connection: sa.Connection) -> None:
        goes_on.wait(120)
        flush(pending, connection)

    monkeypatch.setattr(search.Pending, "flush", slow)
    with batch.session():
        batch.index.note(FIRST)
    assert (committed, stored(engine, FIRST), batch.index.notes) == ([], 0, [])  # the next may be read meanwhile
    goes_on.set()
    with batch.session():
        assert (committed, stored(engine, FIRST)) == ([[]], 1)
    batch.commit()
    assert committed == [[], []]


def test_what_fails_beside_is_raised_and_nothing_of_it_is_there(
    engine: sa.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed: list[Outcomes] = []
    batch = Batch[int](engine, committed.append)
    with monkeypatch.context() as patched:
        patched.setattr(search.Pending, "flush", lambda *_: 1 / 0)
        with batch.session() as connection:
            search.index_notes(connection, [OTHER])
        with pytest.raises(ZeroDivisionError):
            batch.commit()
    assert (committed, stored(engine, OTHER)) == ([], 0)
    with batch.session():
        batch.index.note(OTHER)
    batch.commit()
    assert (committed, stored(engine, OTHER)) == ([[]], 1)
