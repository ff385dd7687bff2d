"""How long failure groups take: `python -m benchmarks.failures [responses] [folder]`; 1,000,000 responses by default.

200 sessions of 20 responses go through the store's own writer, 8 in 100 of them made failures; all further sessions are
copies of their rows, each some hours later. Then the list of groups is asked for under random filters, as a page asks,
and the pages themselves.
"""

from __future__ import annotations

import io
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import orm

from tests.parsing.made_failures import made
from webapp.app import create_app
from webapp.config import Settings
from webapp.store.db import database
from webapp.store.failures import group_detail, groups, neighbours
from webapp.store.ingest.start import ingest
from webapp.store.models import TURNS_A_SESSION, Base
from webapp.store.sessions.filters import Filters

SESSIONS, TURNS = 200, 20
BEGAN = datetime(2025, 1, 1, tzinfo=UTC)
REQUESTS = 200
_TIMES = {"session": ("started_at", "ended_at", "happened_at"), "turn": ("sent_at",)}


def templates() -> bytes:
    chance = random.Random(4)
    failures = made(SESSIONS * TURNS, seed=4)
    rows = []
    for number in range(SESSIONS):
        for turn in range(TURNS):
            text = next(failures).raw if chance.random() < 0.08 else '{"tool": "run", "arguments": {"n": 1}}'
            when = BEGAN + timedelta(minutes=30 * number + turn)
            about = {"session_id": f"s{number}", "kind": "response", "recorded_at": when.isoformat()}
            rows.append(
                about
                | {"text": text, "model": f"m{chance.randrange(12)}", "phase": f"p{turn % 4}"}
                | {"tokens_out": turn, "cost": 0.01}
            )
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def fill(settings: Settings, responses: int) -> sa.Engine:
    engine = database.connect(settings.database)
    sa.event.listen(engine, "connect", lambda raw, _: raw.execute("PRAGMA synchronous=OFF"))
    database.migrate(engine)
    ingest(engine, settings, io.BytesIO(templates()), filename="made.jsonl")
    with engine.begin() as connection:
        first, last = connection.execute(sa.text("SELECT min(id), max(id) FROM session")).one()
        span = last - first + 1
        for number in range(1, responses // (SESSIONS * TURNS)):
            for table, key in (("session", None), ("turn", "id"), ("parse", "turn_id"), ("failed_response", "turn_id")):
                connection.exec_driver_sql(copying(table, key, number, span))
    return engine


def copying(table: str, key: str | None, number: int, span: int) -> str:
    """The statement that copies the first sessions' rows, `number` spans of sessions and 100 hours further on."""
    by, later = number * span, f"+{number * SESSIONS // 2} hours"
    shifted = {"id": f"id + {by}", "external_id": f"CAST(external_id || '-{number}' AS BLOB)"}
    if key is not None:
        shifted = {key: f"{key} + {by * TURNS_A_SESSION}", "session_id": f"session_id + {by}"}
    for name in _TIMES.get(table, ()):
        shifted[name] = f"strftime('%Y-%m-%d %H:%M:%f000', {name}, '{later}')"
    if table == "failed_response":
        shifted["at"] = f'"at" + {number * SESSIONS // 2 * 3_600_000_000}'
    names = [column.name for column in Base.metadata.tables[table].c if (table, column.name) != ("parse", "id")]
    if table == "session":
        shifted["key"] = f"'c{number}x' || id"
    quoted = ", ".join(f'"{name}"' for name in names)
    values = ", ".join(shifted.get(name, f'"{name}"') for name in names)
    bound = f"id <= {span}" if key is None else f"{key} < {(span + 1) * TURNS_A_SESSION}"
    return f"INSERT INTO {table} ({quoted}) SELECT {values} FROM {table} WHERE {bound}"


def filters(responses: int) -> Iterator[Filters]:
    """Random ones, no two with the same time."""
    chance = random.Random(7)
    days = responses // (SESSIONS * TURNS) * SESSIONS / 48
    while True:
        since = BEGAN + timedelta(days=chance.random() * days)
        until = since + timedelta(days=chance.random() * days / 2)
        kind = chance.randrange(5)
        if kind == 0:
            yield Filters(since=since.isoformat())
        elif kind == 1:
            yield Filters(since=since.isoformat(), until=until.isoformat())
        elif kind == 2:
            yield Filters(model=f"m{chance.randrange(12)}", until=until.isoformat())
        elif kind == 3:
            yield Filters(phase=f"p{chance.randrange(4)}", since=since.isoformat())
        else:
            yield Filters()


def timed(name: str, times: list[float]) -> None:
    ordered = sorted(times)
    middle, high = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.95)]
    print(f"{name:<40} p50 {middle * 1e3:7.1f} ms   p95 {high * 1e3:7.1f} ms   most {ordered[-1] * 1e3:7.1f} ms")


def main() -> None:
    responses = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as folder:
        data = Path(folder)
        settings = Settings(data=data, database=f"sqlite:///{data / 'fencepost.sqlite3'}", home="direct")
        began = time.perf_counter()
        engine = fill(settings, responses)
        print(f"{responses:,} responses made in {time.perf_counter() - began:.0f} s")
        measure(engine, responses)
        pages(settings, engine, responses)
        engine.dispose()


def change(engine: sa.Engine, session_id: int) -> None:
    """Say that a session changed: the next request reads it again."""
    with database.writing(engine) as connection:
        newest = "(SELECT max(changed) + 1 FROM session)"
        connection.exec_driver_sql(f"UPDATE session SET changed = {newest} WHERE id = {session_id}")


def pages(settings: Settings, engine: sa.Engine, responses: int) -> None:
    """The same as pages with their HTML, asked of the application without a network."""
    client = create_app(settings).test_client()

    def took(path: str, **query: str) -> float:
        began = time.process_time()
        answer = client.get(path, query_string=query)
        assert answer.status_code == 200, answer.text
        return time.process_time() - began

    with orm.Session(engine) as db:
        keys = [line.key for line in groups.page(db, Filters()).groups[:20]]
    paths = [f"/failures/{quote(key, safe='')}" for key in keys]
    timed("first answers of the application (CPU)", [took("/"), took(paths[0])])
    some = filters(responses)
    timed("/, random filters (CPU)", [took("/", **next(some).active()) for _ in range(REQUESTS // 2)])
    grown, details = [], []
    for number, path in enumerate(paths):
        change(engine, 2 * number + 1)
        grown.append(took("/", **next(some).active()))
        change(engine, 2 * number + 2)
        details.append(took(path))
    timed("/ after a session changed (CPU)", grown)
    timed("a group's page after that (CPU)", details)


def measure(engine: sa.Engine, responses: int) -> None:
    began = time.perf_counter()
    with orm.Session(engine) as db:
        page = groups.page(db, Filters())
    print(f"first page in {time.perf_counter() - began:.1f} s")
    print(f"{page.count:,} of {page.coverage.run:,} responses failed, in {page.total} groups")
    times: list[float] = []
    grown: list[float] = []
    some = filters(responses)
    for number in range(REQUESTS):
        with orm.Session(engine) as db:
            began = time.process_time()
            groups.page(db, next(some))
            (grown if number % 4 == 0 else times).append(time.process_time() - began)
        if number % 4 == 3:
            change(engine, number + 1)
    timed("the list, random filters (CPU)", times)
    timed("the list after a session changed (CPU)", grown)
    details, same = [], []
    for line in page.groups[:20]:
        with orm.Session(engine) as db:
            began = time.process_time()
            group_detail.find(db, line.key, Filters())
            details.append(time.process_time() - began)
            began = time.process_time()
            neighbours.of_turn(db, line.example.turn_id if line.example else 0)
            same.append(time.process_time() - began)
    timed("one group (CPU)", details)
    timed("same failure of a turn (CPU)", same)


if __name__ == "__main__":
    main()
