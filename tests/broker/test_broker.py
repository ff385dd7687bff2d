"""Workers that a broker tells what waits: RabbitMQ and Redis as they are, each test with a queue of its own."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import click
import pytest
import sqlalchemy as sa
from amqp.exceptions import AccessRefused
from celery import signals
from sqlalchemy import orm

from tests.broker.celery_worker import AT_ONCE, SESSIONS, celery, find, kill, parsed, states, upload
from tests.store.jobs.workers import disconnected
from tests.store.made import facets
from tests.until import until
from webapp import broker
from webapp.broker import Messenger
from webapp.commands.work import work_on
from webapp.config import BadSetting, Settings
from webapp.store.jobs import replays, worker
from webapp.store.models import Session

pytestmark = pytest.mark.postgres
rabbitmq = pytest.mark.parametrize("settings", ["rabbitmq"], indirect=True)


def test_a_dump_is_read_and_a_replay_goes_on_behind_a_killed_worker(
    engine: sa.Engine, settings: Settings, db: orm.Session
) -> None:
    upload(engine, settings)
    assert Messenger(settings, engine).tell()
    with celery(settings) as first:
        until(lambda: states(engine) == ["done"])
        run = replays.queue(engine, "windlass-balanced")
        Messenger(settings, engine).tell()
        until(lambda: parsed(engine, "windlass-balanced") >= 2 * AT_ONCE)
        kill(first)
    disconnected(engine)
    with celery(settings):
        Messenger(settings, engine).tell()
        until(lambda: not find(engine, run).live)
    assert find(engine, run).progress["counts"]["responses"] == SESSIONS * AT_ONCE
    assert parsed(engine, "windlass-balanced") == SESSIONS * AT_ONCE
    names = db.scalars(sa.select(Session.external_id)).all()
    assert [sum(facets(db, name)["verdict windlass-balanced"].values()) for name in names] == [AT_ONCE] * SESSIONS


@rabbitmq
def test_two_workers_of_one_host_work_at_once(engine: sa.Engine, settings: Settings) -> None:
    with celery(settings) as first, celery(settings) as second:
        for worker_to_end, count in ((first, 1), (None, 2)):
            upload(engine, settings)
            assert Messenger(settings, engine).tell()
            until(lambda count=count: states(engine) == ["done"] * count)  # type: ignore[misc]
            assert first.poll() is None or count == 2
            assert second.poll() is None
            if worker_to_end:
                kill(worker_to_end)


@rabbitmq  # what comes twice is told by the rows, whoever brings it
def test_a_message_that_comes_twice_changes_nothing(engine: sa.Engine, settings: Settings) -> None:
    number = upload(engine, settings)
    for _ in range(3):
        assert Messenger(settings, engine).tell()
    with celery(settings):
        until(lambda: states(engine) == ["done"])
        run = replays.queue(engine, "direct")
        for again in (number, run, run):
            broker.app(settings).send_task(broker.DO, [again])
        until(lambda: states(engine) == ["done", "done"])
    assert [find(engine, one).tries for one in (number, run)] == [0, 0]
    assert find(engine, run).progress["counts"]["responses"] == SESSIONS * AT_ONCE


@pytest.mark.parametrize("settings", ["redis"], indirect=True)
def test_what_nobody_was_told_of_is_caught_up_with(engine: sa.Engine, settings: Settings) -> None:
    upload(engine, settings)
    replays.queue(engine, "direct")
    with celery(settings):
        broker.app(settings).send_task(broker.CATCH_UP)
        until(lambda: states(engine) == ["done", "done"])
    assert parsed(engine, "direct") == SESSIONS * AT_ONCE


def test_without_its_broker_work_waits_and_the_rows_are_enough(
    engine: sa.Engine,
    settings: Settings,
) -> None:
    upload(engine, settings)
    scheme = (settings.broker or "").partition("://")[0]
    assert Messenger(replace(settings, broker=f"{scheme}://127.0.0.1:9/0"), engine).tell() is False
    assert states(engine) == ["queued"]
    worker.work(engine, settings)
    assert states(engine) == ["done"]


@rabbitmq
def test_a_refusal_does_not_end_the_thread_that_tells(
    engine: sa.Engine,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[str] = []

    def refuse(app: object, name: str, *rest: object, **options: object) -> None:
        calls.append(name)
        raise AccessRefused("no permission")  # an AMQP error is no OSError

    monkeypatch.setattr("celery.Celery.send_task", refuse)
    upload(engine, settings)
    messenger = Messenger(settings, engine)
    messenger.start()
    until(lambda: len(calls) == 1)
    messenger.wake()
    until(lambda: len(calls) == 2)
    assert states(engine) == ["queued"]


@rabbitmq  # Redis has no virtual hosts
def test_a_virtual_host_that_is_not_there_is_a_refusal(
    engine: sa.Engine,
    settings: Settings,
) -> None:
    upload(engine, settings)
    nowhere = f"{(settings.broker or '').rstrip('/')}/nowhere"
    assert Messenger(replace(settings, broker=nowhere), engine).tell() is False
    assert states(engine) == ["queued"]


def test_the_setting_says_what_it_takes(url: str) -> None:
    with pytest.raises(BadSetting, match="must be amqp"):
        Settings.from_environment({"FENCEPOST_BROKER": "kafka://h", "FENCEPOST_DATABASE": url})
    with pytest.raises(BadSetting, match="needs FENCEPOST_DATABASE on PostgreSQL"):
        Settings.from_environment({"FENCEPOST_BROKER": "amqp://h"})


@pytest.mark.parametrize("settings", ["redis"], indirect=True)
@pytest.mark.parametrize("signalled", [True, False])
def test_a_worker_that_nobody_stopped_ends_with_an_error(
    settings: Settings, signalled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Celery's ends by itself, and without an exit code, where its transport breaks: as it does if Redis is killed."""

    def worker_main(app: object, argv: list[str]) -> None:
        if signalled:
            signals.worker_shutting_down.send(sender="celery", sig="SIGTERM", how="Warm", exitcode=0)

    monkeypatch.setattr("celery.Celery.worker_main", worker_main)
    monkeypatch.setattr("tempfile.tempdir", None)
    with nullcontext() if signalled else pytest.raises(click.ClickException, match="stopped by itself"):
        work_on(settings, 1)
