"""The tasks that a broker brings, each the function that the worker without a broker calls, acknowledged when it ended.

A message is a hint: who gets it claims the row, and one that comes twice, or late, changes nothing.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from celery import Celery

from webapp.config import Settings
from webapp.store.db import database, locks
from webapp.store.jobs import claims, export_jobs, jobs, reindex, runs, worker
from webapp.store.models import RunChunk
from webapp.store.sessions import deletion

READ_DUMP, BEGIN_RUN, REPLAY_CHUNK = "fencepost.read_dump", "fencepost.begin_run", "fencepost.replay_chunk"
EXPORT, REINDEX, PURGE, CATCH_UP = "fencepost.export", "fencepost.reindex", "fencepost.purge", "fencepost.catch_up"
TRIES_AGAIN = claims.STALE / 2
"""seconds until a task looks again whether the worker that has its row is gone …"""
TRIES = 4
"""… and how often: the row is silent by then, or somebody works at it"""
CHUNKS_AT_ONCE = 1000
_log = logging.getLogger(__name__)
_here: dict[int, tuple[sa.Engine, str]] = {}
"""of this process, by its number, since a fork must not use its parent's connections"""


def app(settings: Settings) -> Celery:
    """Celery as the settings say; the queue is `FENCEPOST_QUEUE`."""
    celery = Celery("fencepost", broker=settings.broker, set_as_current=False)
    celery.conf.update(
        task_default_queue=settings.queue,
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        task_ignore_result=True,
        worker_prefetch_multiplier=1,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_send_task_events=False,
        broker_connection_retry_on_startup=True,
        broker_connection_timeout=3,
    )
    for name, function in _functions(celery, settings).items():
        celery.task(name=name, bind=True, max_retries=TRIES, shared=False)(function)
    return celery


def _functions(celery: Celery, settings: Settings) -> dict[str, Callable[..., None]]:
    def do_job(task: Any, job: int) -> None:
        engine, owner = here(settings)
        if jobs.take(engine, owner, job) is not None:
            worker.do(engine, settings, job, owner, lambda: False)
        elif _is_live(engine, job):
            raise task.retry(countdown=TRIES_AGAIN)

    def begin_run(_: Any, run: int) -> None:
        engine, _owner = here(settings)
        if runs.start(engine, run, settings) is not None:
            _send_chunks(celery, engine, run)

    def replay_chunk(task: Any, run: int, low: int, high: int) -> None:
        engine, owner = here(settings)
        if not runs.replay_chunk(engine, run, low, owner, settings):
            raise task.retry(countdown=TRIES_AGAIN)

    def reindex_all(_: Any, anew: bool = False, findings: bool = False) -> None:
        engine, _owner = here(settings)
        with locks.alone(engine, "reindex") as mine:
            if not mine:  # Redis sends again what takes longer than an hour
                _log.warning("%s: not begun, since another worker reindexes", REINDEX)
                return
            reindex.refold_all(engine) if findings else reindex.reindex(engine, anew=anew)

    def purge(_: Any) -> None:
        deletion.purge(here(settings)[0])
        export_jobs.purge(here(settings)[0], settings)

    def catch_up(_: Any) -> None:
        engine, owner = here(settings)
        worker.work_once(engine, settings, owner, lambda: False, processes=1)

    return {
        READ_DUMP: do_job,
        EXPORT: do_job,
        BEGIN_RUN: begin_run,
        REPLAY_CHUNK: replay_chunk,
        REINDEX: reindex_all,
        PURGE: purge,
        CATCH_UP: catch_up,
    }


def here(settings: Settings) -> tuple[sa.Engine, str]:
    """The database and the owner's name of this process."""
    if os.getpid() not in _here:
        _here.clear()
        engine = database.connect(settings.database, durable=settings.durable, pool=settings.pool)
        _here[os.getpid()] = (engine, claims.new_owner())
    return _here[os.getpid()]


def _is_live(engine: sa.Engine, number: int) -> bool:
    with engine.connect() as connection:
        return any(job.id == number for job in jobs.live(connection))


def _send_chunks(celery: Celery, engine: sa.Engine, run: int) -> None:
    """A message for each chunk that waits, over one connection to the broker."""
    after, query = -1, sa.select(RunChunk.low, RunChunk.high).where(RunChunk.run_id == run, RunChunk.state != "done")
    with celery.producer_pool.acquire(block=True) as producer:
        while True:
            with engine.connect() as connection:
                rows = connection.execute(
                    query.where(RunChunk.low > after).order_by(RunChunk.low).limit(CHUNKS_AT_ONCE)
                ).all()
            for row in rows:
                celery.send_task(REPLAY_CHUNK, [run, row.low, row.high], producer=producer)
            if len(rows) < CHUNKS_AT_ONCE:
                return
            after = rows[-1].low
