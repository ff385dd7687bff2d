"""Sessions written beside the thread that reads them: in order, told once they are sure, and none behind a failure."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
import sqlalchemy as sa

from webapp.store import search
from webapp.store.ingest.batches import Batch
from webapp.store.ingest.beside import Outcomes, Write

pytestmark = [pytest.mark.postgres, pytest.mark.parametrize("url", ["postgres"], indirect=True)]
*PUT, LAST = (search.Note("note", 10**15 + 10 + number, "a note of one test alone") for number in range(7))


def writes(number: int, then: Callable[[], object] = lambda: None) -> Write[int]:
    """Writes one of `PUT`, does something more, and tells its number."""

    def write(_: sa.Connection, index: search.Pending) -> tuple[Outcomes, int]:
        index.note(PUT[number])
        then()
        return [], number

    return write


def stored(engine: sa.Engine, note: search.Note) -> int:
    with engine.connect() as connection:
        query = sa.text("SELECT count(*) FROM search_note WHERE rowid = :id")
        return connection.execute(query, {"id": note.key}).scalar_one()


def test_what_is_put_is_told_in_order_once_it_is_sure(engine: sa.Engine) -> None:
    committed: list[Outcomes] = []
    batch, goes_on = Batch[int](engine, committed.append), threading.Event()
    assert batch.put(writes(0, lambda: goes_on.wait(120))) == []
    assert (batch.put(writes(1)), committed, stored(engine, PUT[0])) == ([], [], 0)
    goes_on.set()
    assert batch.drain() == [0, 1]
    assert (committed, [stored(engine, note) for note in PUT[:2]]) == ([[], []], [1, 1])
    batch.put(writes(2))
    with batch.session():
        assert stored(engine, PUT[2]) == 1
        batch.index.note(LAST)
    assert (batch.drain(), stored(engine, LAST)) == ([2], 1)


def test_rows_are_written_while_what_is_before_them_is_indexed(
    engine: sa.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch, written, flush = Batch[int](engine, lambda _: None), threading.Event(), search.Pending.flush
    in_time: list[bool] = []
    monkeypatch.setattr(search.Pending, "flush", lambda *args: (in_time.append(written.wait(60)), flush(*args)))
    batch.put(writes(0))
    batch.put(writes(1, written.set))
    assert (batch.drain(), in_time) == ([0, 1], [True, True])


@pytest.mark.parametrize("early", [True, False], ids=["writing", "indexing"])
def test_nothing_behind_what_fails_is_stored(engine: sa.Engine, monkeypatch: pytest.MonkeyPatch, early: bool) -> None:
    batch, all_there, flush = Batch[int](engine, lambda _: None), threading.Event(), search.Pending.flush

    def failing(pending: search.Pending, connection: sa.Connection) -> None:
        if pending.notes == [PUT[4]]:
            all_there.wait(120)
            raise ZeroDivisionError
        flush(pending, connection)

    monkeypatch.setattr(search.Pending, "flush", failing)
    told = batch.put(writes(3))
    told += batch.put(writes(4, lambda: early and 1 / 0))
    with pytest.raises(ZeroDivisionError):  # here, or where it is waited for
        told += batch.put(writes(5))
        all_there.set()
        batch.drain()
    told += batch.drain()
    assert [stored(engine, note) for note in PUT[3:]] == [1, 0, 0]
    monkeypatch.undo()
    told += batch.put(writes(5)) + batch.drain()
    assert (told, stored(engine, PUT[5])) == ([3, 5], 1)
