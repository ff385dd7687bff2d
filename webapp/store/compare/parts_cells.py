"""The cells of a comparison where runs wrote Parquet parts: by DuckDB, over the same verdicts and digests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from webapp.config import Settings
from webapp.store.parts import reading
from webapp.store.write.parser import OURS
from webapp.store.write.tally import READABLE

_READ = ", ".join(f"'{verdict}'" for verdict in sorted(READABLE))
CELL_OF = f"""
SELECT turn_id, CASE
    WHEN a.verdict IS NULL THEN 'not_run_a'
    WHEN b.verdict IS NULL THEN 'not_run_b'
    WHEN a.verdict IN ({_READ}) AND b.verdict IN ({_READ}) THEN CASE
        WHEN a.value_digest IS NULL OR b.value_digest IS NULL THEN 'undecided'
        WHEN a.value_digest = b.value_digest THEN 'both_same'
        ELSE 'both_different' END
    WHEN a.verdict IN ({_READ}) THEN 'only_a'
    WHEN b.verdict IN ({_READ}) THEN 'only_b'
    ELSE 'neither' END AS cell
FROM a FULL JOIN b USING (turn_id)"""


def counts(connection: sa.Connection, settings: Settings, first: str, second: str) -> dict[str, int]:
    """How many responses stand in each cell but `not_run_both`. Raises `PartDamaged`, `MissingLibrary`."""
    with _cells(connection, settings, first, second) as duck:
        return dict(duck.execute(f"SELECT cell, count(*) FROM ({CELL_OF}) GROUP BY cell").fetchall())


def turn_ids(
    connection: sa.Connection, settings: Settings, first: str, second: str, cell: str, after: int
) -> Iterator[int]:
    """The turns of a cell behind `after`, ascending. Raises `PartDamaged`, `MissingLibrary`."""
    with _cells(connection, settings, first, second) as duck:
        if cell == "not_run_both":
            reading.relate(duck, "every", connection, settings, OURS)
            select = f"SELECT turn_id FROM every ANTI JOIN ({CELL_OF}) USING (turn_id)"
            where = "turn_id > ?"
        else:
            select, where = f"SELECT turn_id FROM ({CELL_OF})", f"cell = '{cell}' AND turn_id > ?"
        duck.execute(f"{select} WHERE {where} ORDER BY turn_id", [after])
        while rows := duck.fetchmany(1000):
            yield from (row[0] for row in rows)


@contextmanager
def _cells(connection: sa.Connection, settings: Settings, first: str, second: str) -> Iterator[Any]:
    """A DuckDB with the relations `a` and `b`."""
    with reading.opened(settings) as duck:
        reading.relate(duck, "a", connection, settings, first)
        reading.relate(duck, "b", connection, settings, second)
        yield duck
