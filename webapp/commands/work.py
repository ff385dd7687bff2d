"""`fencepost work`: does what waits behind pages, as the server's own worker or as one of several."""

from __future__ import annotations

import os
import signal
import sys
import threading
import uuid
from typing import Any

import click
import sqlalchemy as sa

from webapp import broker, logs
from webapp.commands import _start, _store
from webapp.commands._start import stopped_by_signals
from webapp.config import Settings
from webapp.store.db import database
from webapp.store.jobs import imports, worker

TRIES_AGAIN = 15.0
"""seconds until a message is looked at again whose task another worker is at, in case that one is gone by then …"""
TRIES = 4
"""… and how often"""
_NICER = 10
_here: dict[int, sa.Engine] = {}
"""of this process, by its number, since a fork must not use its parent's connections"""


@click.command("work")
@click.option("--stay", is_flag=True, help="Run until SIGTERM or Ctrl-C; PostgreSQL only, any number of workers.")
@click.option(
    "--processes", type=click.IntRange(1), metavar="N", help="With a broker: parallel tasks [one per processor]."
)
def command(stay: bool, processes: int | None) -> None:
    """Do the tasks that pages started (imports, replays, changes of parsers, exports), until none is left.

    A server does this itself; run it with --stay on other machines that share its PostgreSQL database and its data
    folder. If a worker is killed, the next one that looks begins its task again.

    Exits with 0 when done, with 1 when the database cannot be used, with 2 when used wrongly.
    """
    settings = _store.settings()
    logs.configure(settings.log)
    if stay:
        work_on(settings, processes)
        return
    ends = _ends()
    threading.Thread(target=_until_closed, args=(ends,), daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(_NICER)
    _start.spool_beside(settings)
    with _store.engine(settings) as engine:
        worker.work(engine, settings, ends.is_set)
    sys.stdout.flush()


def work_on(settings: Settings, processes: int | None = None) -> None:
    """Be one of several workers, until SIGTERM or Ctrl-C: the role `worker`."""
    if not settings.database.startswith("postgresql"):
        raise click.UsageError("--stay needs FENCEPOST_DATABASE on PostgreSQL: on SQLite the server has its worker")
    with stopped_by_signals() as stop_requested:
        with _start.starting(settings):
            pass
        if settings.broker:
            _work_for_broker(settings, processes)
            return
        with _store.engine(settings) as engine:
            imports.tidy(engine, settings)
            ends = _ends()
            click.echo(f"Fencepost works for {engine.url!r}; Ctrl+C stops it")
            sys.stdout.flush()
            worker.work_on(engine, settings, lambda: stop_requested.is_set() or ends.is_set(), ends.wait)


def _work_for_broker(settings: Settings, processes: int | None) -> None:
    """Celery's worker, which ends its tasks before it ends; none of its processes keeps another's connections.

    Celery ends by itself where its transport breaks, as that to Redis does at times when Redis is killed: exits with 1
    then, so that who started it starts it again.
    """
    from celery import signals

    with _store.engine(settings) as engine:  # at the newest revision
        imports.tidy(engine, settings)
        click.echo(f"Fencepost works for {engine.url!r}, notified by Celery; Ctrl+C stops it")
    sys.stdout.flush()
    logs.use_for_celery(settings.log)
    name = f"fencepost-{uuid.uuid4().hex[:8]}@%h"  # a host has several workers; RabbitMQ refuses a second of one name
    options = [f"--hostname={name}", "--without-gossip", "--without-mingle", "--loglevel=WARNING"]
    options += [f"--concurrency={processes}"] if processes else []
    received: list[str] = []  # Celery gives no exit code back
    signals.worker_shutting_down.connect(lambda sig, **_: received.append(sig), weak=False)
    celery = broker.app(settings)
    _add_tasks(celery, settings)
    celery.worker_main(["--quiet", "worker", "--pool=prefork", f"--queues={settings.queue}", *options])
    if not received:
        raise click.ClickException("Celery's worker stopped by itself")


def _add_tasks(celery: Any, settings: Settings) -> None:
    """What does the messages of `broker`: each as a worker without a broker does it."""

    def do(message: Any, number: int) -> None:
        if not worker.do(_database(settings), settings, number):
            raise message.retry(countdown=TRIES_AGAIN)

    def catch_up(_: Any) -> None:
        worker.work_once(_database(settings), settings, lambda: False)

    for name, function in ((broker.DO, do), (broker.CATCH_UP, catch_up)):
        celery.task(name=name, bind=True, max_retries=TRIES, shared=False)(function)


def _database(settings: Settings) -> sa.Engine:
    """The database of this process."""
    if os.getpid() not in _here:
        _here.clear()
        _here[os.getpid()] = database.connect(settings.database, durable=settings.durable, pool=settings.pool)
    return _here[os.getpid()]


def _ends() -> threading.Event:
    """Set by SIGTERM and Ctrl-C: what is being done is put back, or brought to its next chunk."""
    ends = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ends.set())
    return ends


def _until_closed(ends: threading.Event) -> None:
    """The server holds the other end of standard input: it closes however the server ends."""
    while os.read(0, 1):
        pass
    ends.set()
