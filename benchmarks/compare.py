"""How long two stored profiles take to be compared over 10,000 and over 1,000,000 responses.

    python -m benchmarks.compare [--responses 10000 --responses 1000000] [--folder F]

Prints one JSON document: for each number of responses the seconds of `compare` (the first, and the best of three after
it, with the seconds of processor that it took), of the page of a cell, and of a comparison under a filter. A session of
20 made responses goes through the store's own writer and a replay; all others are copies of its rows.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.config import Settings
from webapp.store.compare import comparing, listing
from webapp.store.db import database
from webapp.store.ingest.start import ingest
from webapp.store.jobs import replays
from webapp.store.models import TURNS_A_SESSION, Parse, Session, Turn
from webapp.store.sessions.filters import Filters
from webapp.web.api import shapes

A_SESSION = 20
A, B = "windlass-strict", "fencepost"
PROSE = "I looked at the table of results per day and will now plot what I found in it. " * 12


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--responses", type=int, action="append")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        results = {number: measured(Path(folder) / str(number), number) for number in options.responses or (10_000,)}
    print(json.dumps(results, indent=2))


def measured(folder: Path, responses: int) -> dict[str, Any]:
    folder.mkdir()
    settings = Settings(data=folder, database=f"sqlite:///{folder}/store.sqlite3")
    engine = database.connect(settings.database)
    started = time.perf_counter()
    fill(engine, settings, responses)
    filled = time.perf_counter() - started
    with orm.Session(engine) as db:
        first = seconds(lambda: comparing.compare(db, A, B, Filters()))
        best = min(seconds(lambda: comparing.compare(db, A, B, Filters())) for _ in range(3))
        started = time.process_time()
        compared = comparing.compare(db, A, B, Filters())
        processor = time.process_time() - started
        cell = seconds(lambda: listing.page(db, A, B, "only_b", Filters()))
        of_m1 = Filters(model="m1")
        narrowed = seconds(lambda: comparing.compare(db, A, B, of_m1)) if responses <= 10_000 else None
    engine.dispose()
    times = {
        "first": first,
        "best_of_three": best,
        "processor": processor,
        "cell_page": cell,
        "under_a_filter": narrowed,
        "made_in": filled,
    }
    return {name: value and round(value, 3) for name, value in times.items()} | {
        "comparison": shapes.filled("Comparison", compared)
    }


def seconds(what: Callable[[], Any]) -> float:
    started = time.perf_counter()
    what()
    return time.perf_counter() - started


def fill(engine: sa.Engine, settings: Settings, responses: int) -> None:
    """One session by the writer, and its rows again for each further one."""
    database.migrate(engine)
    entries = [
        {"node_type": "agent", "role": "agent", "content": text(at), "model": f"m{at % 4}"} for at in range(A_SESSION)
    ]
    document = {"session_id": "made", "entry_count": len(entries), "entries": entries}
    ingest(engine, settings, BytesIO(json.dumps(document).encode()), filename="made.json")
    replays.replay(engine, settings, A)
    with engine.begin() as connection:
        connection.exec_driver_sql("PRAGMA synchronous=OFF")
        connection.exec_driver_sql("CREATE TEMP TABLE copies (n INTEGER PRIMARY KEY)")
        numbers = [(number,) for number in range(1, responses // A_SESSION)]
        connection.exec_driver_sql("INSERT INTO copies VALUES (?)", numbers)
        turn = f"+ n * {TURNS_A_SESSION}"
        changes = {
            "id": "s.id + n",
            "external_id": "CAST('made' || n AS BLOB)",
            "key": "'k' || n",
            "changed": "s.changed + n",
        }
        again(connection, Session.__table__, changes)
        again(connection, Turn.__table__, {"id": f"s.id {turn}", "session_id": "s.session_id + n"})
        again(connection, Parse.__table__, {"id": "NULL", "turn_id": f"s.turn_id {turn}"})
    with engine.begin() as connection:
        connection.exec_driver_sql("ANALYZE")


def again(connection: sa.Connection, table: Any, changes: dict[str, str]) -> None:
    """Each row of a table once more for each copy, with some columns changed."""
    names = [column.name for column in table.columns]
    columns = ", ".join(f'"{name}"' for name in names)
    values = ", ".join(changes.get(name, f's."{name}"') for name in names)
    connection.exec_driver_sql(
        f'INSERT INTO "{table.name}" ({columns}) SELECT {values} FROM copies CROSS JOIN '
        f'(SELECT * FROM "{table.name}" ORDER BY id) AS s'
    )


def text(at: int) -> str:
    """Half of them with a defect, each other one with another value."""
    call = json.dumps({"tool": "plot", "arguments": {"number": at, "title": f"results {at}"}})
    return f"{PROSE}\n```json\n{call}{'}' if at % 2 else ''}\n```" if at % 5 else f"{PROSE} {at}"


if __name__ == "__main__":
    main()
