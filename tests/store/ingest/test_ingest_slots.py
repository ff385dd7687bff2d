"""Many dumps at once on one pool of connections: each is read, none waits for what another one holds."""

from __future__ import annotations

import io
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from tests.store.made import entry
from webapp.config import Settings
from webapp.store.db import database
from webapp.store.ingest.start import ingest

pytestmark = [pytest.mark.postgres, pytest.mark.parametrize("url", ["postgres"], indirect=True)]
AT_ONCE, SESSIONS = 8, 20


def test_more_dumps_at_once_than_there_are_connections(engine: sa.Engine, settings: Settings) -> None:
    small = database.connect(settings.database, pool=1)

    def bring(number: int) -> int:
        lines = ({"session_id": f"{number}-{line // 20}", **entry(f"{line}")} for line in range(20 * SESSIONS))
        stream = io.BytesIO("\n".join(map(json.dumps, lines)).encode())
        return len(ingest(small, settings, stream, filename=f"{number}.jsonl").keys)

    try:
        with ThreadPoolExecutor(AT_ONCE) as threads:
            assert list(threads.map(bring, range(AT_ONCE))) == [SESSIONS] * AT_ONCE
    finally:
        small.dispose()
