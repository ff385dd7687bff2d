"""A start from the index's file is as a start from every session, or the file is not used; never anything between."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import orm

from tests.store.index.test_index import row, rows
from tests.store.made import BROKEN, CALL, Bring, entry, windlass
from webapp.store import index
from webapp.store.db import backup
from webapp.store.db.database import connect
from webapp.store.index import marks, session_reader, state_file
from webapp.store.index.session_reader import Row
from webapp.store.index.state import State
from webapp.store.labels import labels
from webapp.store.models import DatabaseSecret, Session
from webapp.store.sessions import deletion, sessions, turns
from webapp.store.sessions.filters import Filters
from webapp.store.sessions.narrowing import FACETS, Narrowed


def content(state: State) -> dict[str, object]:
    """All that a state says: its sessions, what each has, and how a list would count them."""
    by_slot = {slot: state.numbers["id"].values[slot] for slot in range(state.size) if slot in state.alive}
    columns = {
        (dimension, value): {by_slot[slot]: None for slot in by_slot if slot in column.members}
        for dimension, values in state.dimensions.items()
        for value, column in values.items()
    }
    numbers = {name: {by_slot[slot]: each.values[slot] for slot in by_slot} for name, each in state.numbers.items()}
    narrowed = Narrowed(state, Filters(), lambda _: 0)
    return {
        "columns": {name: having for name, having in columns.items() if having},
        "numbers": numbers,
        "counts": {facet: narrowed.counts(facet) for facet in FACETS},
    }


def written(path: Path, state: State, horizon: int = 7) -> Path:
    state_file.write(path, state_file.Stored(state, horizon, "mark"))
    return path


@settings(max_examples=40, deadline=None)
@given(st.tuples(rows, st.lists(row, max_size=3), st.lists(row, max_size=3)))
def test_what_was_written_is_read(tmp_path_factory: pytest.TempPathFactory, parts: tuple[list[Row], ...]) -> None:
    state = State()
    for some in parts:
        state = state.extended(sorted({one.id: one for one in some}.values(), key=lambda one: one.id))
        state.numbers["changed"].planes  # noqa: B018 - some of the planes are made, others come later
    stored = state_file.read(written(tmp_path_factory.mktemp("index") / "state", state))
    assert (stored.horizon, stored.mark) == (7, "mark")
    assert content(stored.state) == content(state)
    assert {number: stored.state.slot(number) for number in range(70)} == {
        number: state.slot(number) for number in range(70)
    }
    assert state.check_sum() == stored.state.check_sum()
    more = [one._replace(changed=500) for one in parts[0][:2]]
    assert content(stored.state.extended(more)) == content(state.extended(more))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_damaged_file_is_told(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    state = State().extended(data.draw(rows))
    path = written(tmp_path_factory.mktemp("index") / "state", state)
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    damaged = data.draw(
        st.sampled_from((whole[:at], whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :], whole + b"x"))
    )
    path.write_bytes(damaged)
    with pytest.raises(state_file.Unusable):
        state_file.read(path)


def test_a_file_of_other_code_or_none_is_told(tmp_path: Path) -> None:
    path = written(tmp_path / "state", State())
    path.write_bytes(b"fencepost index of long ago\n" + path.read_bytes().partition(b"\n")[2])
    with pytest.raises(state_file.Unusable, match="another version"):
        state_file.read(path)
    with pytest.raises(state_file.Unusable, match="No such file"):
        state_file.read(tmp_path / "none")


@pytest.fixture
def starts(
    engine: sa.Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> Callable[[], tuple[State, bool]]:
    """Ends and begins a process, as far as the index goes: its state, and whether it came from the file."""
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(index, "_LEAST_KEPT", 1)

    def start() -> tuple[State, bool]:
        caplog.clear()
        again = connect(engine.url.render_as_string(hide_password=False))
        index.keep_in(again, tmp_path / "kept")
        with orm.Session(again) as db:
            state = index.current(db)
        index.keep(again)
        with again.connect() as connection:
            assert state.check_sum() == session_reader.check_sum(connection)
        again.dispose()
        return state, "every session is read" not in caplog.text

    return start


def anew(engine: sa.Engine) -> State:
    """Every session, read without the file."""
    again = connect(engine.url.render_as_string(hide_password=False))
    with orm.Session(again) as db:
        state = index.current(db)
    again.dispose()
    return state


Starts = Callable[[], tuple[State, bool]]


def dump(bring: Bring, *names: str) -> None:
    for name in names:
        bring(windlass(name, [entry(BROKEN, model=name), entry(CALL)]))


def test_a_start_reads_what_was_written_since(db: orm.Session, engine: sa.Engine, bring: Bring, starts: Starts) -> None:
    dump(bring, "a", "b", "c", "d")
    assert starts()[1] is False
    assert starts()[1] is True
    dump(bring, "e", "f")
    labels.put(db, turns.find(db, sessions.find(db, "b"), 0).turn, author="ann", judgement="missed")
    keys = {session.external_id: session.key for session in db.scalars(sa.select(Session))}
    deletion.delete(db, [keys["a"]])
    state, from_file = starts()
    assert from_file
    assert content(state) == content(anew(engine))
    assert len(state.alive) == 5
    deletion.undo(db, [keys["a"]])
    deletion.delete(db, [keys["b"], keys["e"]])
    deletion.purge(engine, older_than=timedelta(seconds=-1))
    state, from_file = starts()
    assert from_file
    assert content(state) == content(anew(engine))


def test_sessions_that_were_deleted_and_purged_since_are_gone(
    db: orm.Session, engine: sa.Engine, bring: Bring, starts: Starts
) -> None:
    dump(bring, "a", "b", "c")
    starts()
    keys = {session.external_id: session.key for session in db.scalars(sa.select(Session))}
    deletion.delete(db, [keys["a"], keys["c"]])
    deletion.purge(engine, older_than=timedelta(seconds=-1))
    state, from_file = starts()
    assert from_file
    assert content(state) == content(anew(engine))
    assert len(state.alive) == 1


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_a_database_that_was_restored_does_not_know_a_newer_file(
    engine: sa.Engine, bring: Bring, starts: Starts, tmp_path: Path
) -> None:
    dump(bring, "a", "b")
    older, path = tmp_path / "older", Path(str(engine.url.database))
    backup.copy(engine, older)
    dump(bring, "c")
    assert starts()[1] is False
    assert starts()[1] is True
    engine.dispose()
    for kept in (path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        kept.unlink(missing_ok=True)
    shutil.copyfile(older, path)
    dump(bring, "d")
    state, from_file = starts()
    assert from_file is False
    assert content(state) == content(anew(engine))


def test_a_database_that_does_not_know_the_file_reads_every_session(
    engine: sa.Engine, bring: Bring, starts: Starts
) -> None:
    dump(bring, "a")
    starts()
    with engine.begin() as connection:
        connection.execute(sa.delete(DatabaseSecret))
    assert starts()[1] is False
    assert starts()[1] is True


def test_a_file_that_counts_otherwise_is_not_used(engine: sa.Engine, bring: Bring, starts: Starts) -> None:
    """As where somebody wrote to the database by hand, or restored it in a way that nobody thought of."""
    dump(bring, "a", "b")
    starts()
    with engine.begin() as connection:
        first = sa.select(sa.func.min(Session.id)).scalar_subquery()
        lower = sa.update(Session).where(Session.id == first).values(changed=Session.changed - 1)
        connection.execute(lower)
    assert starts()[1] is False


def test_a_folder_that_cannot_be_written_is_said(
    engine: sa.Engine, bring: Bring, starts: Starts, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    dump(bring, "a")
    (tmp_path / "kept").write_text("no folder")
    assert starts()[1] is False
    assert "the index is not kept" in caplog.text
    assert starts()[1] is False


def test_many_files_are_known_at_once_and_the_oldest_forgotten(engine: sa.Engine) -> None:
    for number in range(25):
        marks.put(engine, f"file {number}")
    with engine.connect() as connection:
        assert [marks.is_known(connection, f"file {number}") for number in (4, 5, 24, 25)] == [False, True, True, False]
