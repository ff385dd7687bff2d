"""Tasks: one worker at each, whoever holds its lock; what a worker that is gone left is begun again."""

from __future__ import annotations

import contextlib
import io
import json
import signal
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from tests.forking import ForkedProcess
from tests.store.jobs import workers
from tests.store.made import CALL, entry, on_sqlite
from tests.until import until
from webapp.config import BadSetting, Settings
from webapp.store import tasks
from webapp.store.jobs import imports, worker
from webapp.store.models import Dump, Session, Task


def make(engine: sa.Engine, settings: Settings, name: str = "a") -> int:
    """An import of four sessions of ten turns."""
    entries = (entry(f"{number} {CALL}", session_id=f"{name}-{number % 4}") for number in range(40))
    lines = b"".join(json.dumps(one).encode() + b"\n" for one in entries)
    return imports.ask(engine, settings, filename=f"{name}.jsonl", path=imports.own(settings, io.BytesIO(lines)))


def every(engine: sa.Engine) -> list[Task]:
    with engine.connect() as connection:
        return tasks.page(connection)


def test_a_task_that_a_worker_has_is_nobody_elses(engine: sa.Engine, settings: Settings) -> None:
    number = make(engine, settings)
    with tasks.hold(engine, settings, number) as is_mine:
        assert is_mine and tasks.begin(engine, number)
        assert not worker.do(engine, settings, number) and not worker.is_work_free(engine, settings)
    assert worker.is_work_free(engine, settings)
    worker.work(engine, settings)
    assert [(task.state, task.tries) for task in every(engine)] == [("done", 1)]


@on_sqlite
def test_kinds_are_done_in_their_order(engine: sa.Engine, settings: Settings) -> None:
    numbers = {kind: tasks.make(engine, kind, {}) for kind in reversed(tasks.KINDS)}
    assert list(tasks.free(engine, settings)) == [numbers[kind] for kind in tasks.KINDS]
    assert list(tasks.free(engine, settings, tasks.EXPORT)) == [numbers[tasks.EXPORT]]


def test_what_was_cancelled_ends_no_other_way(engine: sa.Engine, settings: Settings) -> None:
    number = make(engine, settings)
    tasks.begin(engine, number)
    assert tasks.cancel(engine, number) and not tasks.cancel(engine, number)
    with engine.begin() as connection:
        assert not tasks.note(connection, number, {"read": 1})
    tasks.put_back(engine, number)
    assert not tasks.end(engine, number, "done", {}) and tasks.begin(engine, number) is None
    (task,) = every(engine)
    assert (task.state, task.progress) == ("cancelled", {})
    assert task.result is not None and task.result["error"]["message"].startswith("Cancelled. What was read by then")


@on_sqlite
def test_a_commands_own_task_is_interrupted_with_it(engine: sa.Engine, settings: Settings) -> None:
    with pytest.raises(KeyboardInterrupt), tasks.done_here(engine, settings, tasks.PRUNE, {}) as task:
        assert not list(tasks.free(engine, settings))
        raise KeyboardInterrupt
    assert [(one.id, one.state) for one in every(engine)] == [(task.id, "interrupted")]


@pytest.fixture
def three(settings: Settings) -> Iterator[list[ForkedProcess]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(workers.ending(workers.start(settings, "--stay"))) for _ in range(3)]


@pytest.mark.postgres
@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_three_processes_share_the_tasks_and_one_is_killed(
    engine: sa.Engine, settings: Settings, three: list[ForkedProcess], db: orm.Session
) -> None:
    for number in range(9):
        make(engine, settings, str(number))
    until(lambda: any(task.state == "running" for task in every(engine)))
    three[0].kill()
    until(lambda: all(not task.live for task in every(engine)))
    assert {task.state for task in every(engine)} == {"done"} and sum(task.tries for task in every(engine)) <= 1
    assert sorted(db.scalars(sa.select(Session.turn_count))) == [10] * 36
    assert {tuple(row) for row in db.execute(sa.select(Dump.state, Dump.turn_count))} == {("done", 40)}
    for process in three[1:]:
        until(lambda process=process: workers.handles(process, signal.SIGTERM))  # type: ignore[misc]
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert db.scalar(sa.select(sa.func.count()).select_from(Task)) == 9


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_sqlite_has_the_worker_of_its_server_alone(settings: Settings) -> None:
    with workers.start(settings, "--stay") as process:
        assert process.wait(60) == 2


@pytest.mark.parametrize("role", ["web", "worker"])
def test_roles_need_postgresql(role: str) -> None:
    with pytest.raises(BadSetting, match="needs FENCEPOST_DATABASE on PostgreSQL"):
        Settings.from_environment({"FENCEPOST_ROLE": role})
    shared = {"FENCEPOST_ROLE": role, "FENCEPOST_DATABASE": "postgresql+psycopg://h/n"}
    assert Settings.from_environment(shared).role == role
    with pytest.raises(BadSetting, match="all-in-one, web or worker, not 'boss'"):
        Settings.from_environment({"FENCEPOST_ROLE": "boss"})
