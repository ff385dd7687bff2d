"""The database and the brokers of these tests: PostgreSQL, RabbitMQ and Redis on 127.0.0.1."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.conftest import SERVER, db, engine, postgres  # noqa: F401
from webapp.config import Settings

BROKERS = {"rabbitmq": "amqp://guest:guest@127.0.0.1:5672//", "redis": "redis://127.0.0.1:6379/9"}


@pytest.fixture
def url(postgres: str) -> str:  # noqa: F811
    return f"{SERVER}/{postgres}"


@pytest.fixture(params=list(BROKERS))
def settings(request: pytest.FixtureRequest, url: str, tmp_path: Path) -> Iterator[Settings]:
    """With a queue of its own, that is removed; skipped where the broker does not answer, failing then under CI."""
    from kombu import Connection  # here: a second that others need not pay

    broker, queue = BROKERS[request.param], f"fencepost-test-{uuid.uuid4().hex[:12]}"
    with Connection(broker, connect_timeout=30) as connection:
        try:
            connection.ensure_connection(max_retries=1, timeout=30)
        except OSError as error:
            if os.environ.get("CI") == "true":
                pytest.fail(f"no {request.param} on 127.0.0.1 under CI: {error}")
            pytest.skip(f"needs {request.param} on 127.0.0.1")
        yield Settings(data=tmp_path / "data", database=url, home="direct", broker=broker, queue=queue)
        with contextlib.suppress(Exception):
            connection.default_channel.queue_delete(queue)
