"""The four-way comparison and groups by model over synthetic runs, in Parquet parts by DuckDB and in PostgreSQL.

    python -m benchmarks.analytics --rows 2000000 --postgres postgresql://root@127.0.0.1/postgres

The rows are narrow: what a comparison needs of a response, two profiles each; a tenth of the values differ.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from webapp.config import Settings
from webapp.store.compare import parts_cells
from webapp.store.models import TURNS_A_SESSION
from webapp.store.parts import part_files, reading

TURNS = 20
"""responses of a session"""
MODELS = ("llama", "mistral", "qwen", "gemma")


def rows(count: int, side: int) -> Iterator[tuple[int, int, str, str, int | None]]:
    """turn_id, text, model, verdict and digest; of the second side a tenth differ."""
    same, other = random.Random(1), random.Random(2)
    for number in range(count):
        turn_id = (1 + number // TURNS) * TURNS_A_SESSION + number % TURNS
        digest, roll, text = same.getrandbits(63), same.random(), same.getrandbits(63)
        if side and other.random() < 0.1:
            digest, roll = other.getrandbits(63), other.random()
        verdict = "clean" if roll < 0.7 else "extracted" if roll < 0.9 else "failed"
        yield turn_id, text, MODELS[number // TURNS % len(MODELS)], verdict, digest if roll < 0.9 else None


def written(settings: Settings, count: int, side: int, a_part: int) -> list[Path]:
    """The parts of one side."""
    paths, columns = [], part_files.Columns()
    for turn_id, text, model, verdict, digest in rows(count, side):
        columns.add(turn_id, text, model, verdict, digest, None, None)
        if len(columns.turn_id) == a_part:
            paths.append(settings.data / part_files.write(settings, side, columns).name)
            columns = part_files.Columns()
    if columns.turn_id:
        paths.append(settings.data / part_files.write(settings, side, columns).name)
    return paths


def measured(name: str, work: Callable[[], Any]) -> Any:
    """Run it; print its seconds, and the core-seconds of this process."""
    began, used = time.perf_counter(), time.process_time()
    result = work()
    print(f"{name}: {time.perf_counter() - began:.2f} s, {time.process_time() - used:.2f} core-seconds", flush=True)
    return result


def in_parts(count: int, a_part: int) -> list[Any]:
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder), database="")
        sides = [measured(f"writing side {side}", lambda: written(settings, count, side, a_part)) for side in (0, 1)]  # noqa: B023
        size = sum(path.stat().st_size for paths in sides for path in paths)
        print(f"{size / count / 2:.1f} bytes a row, {len(sides[0])} parts a side")
        with reading.opened(settings) as duck:
            for name, paths in zip("ab", sides, strict=True):
                duck.execute(f"CREATE VIEW {name} AS FROM read_parquet({[str(path) for path in paths]})")
            print(f"{duck.execute('SELECT current_setting(?)', ['threads']).fetchone()[0]} threads")
            cells = measured("four-way", lambda: duck.execute(four_way(parts_cells.CELL_OF)).fetchall())
            groups = measured("by model", lambda: duck.execute(by_model(parts_cells.CELL_OF)).fetchall())
    return [sorted(cells), sorted(groups)]


def four_way(cell_of: str) -> str:
    return f"SELECT cell, count(*) FROM ({cell_of}) c GROUP BY cell"


def by_model(cell_of: str) -> str:
    return f"SELECT a.model, cell, count(*) FROM ({cell_of}) c JOIN a USING (turn_id) GROUP BY a.model, cell"


def in_postgres(url: str, count: int) -> list[Any]:
    """The same in temporary tables, which go with the connection."""
    import psycopg

    with closing(psycopg.connect(url)) as connection:
        for name, side in (("a", 0), ("b", 1)):
            columns = "turn_id bigint, text bigint, model text, verdict text, value_digest bigint"
            connection.execute(f"CREATE TEMP TABLE {name} ({columns})")
            with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
                for row in rows(count, side):
                    copy.write_row(row)
            connection.execute(f"ALTER TABLE {name} ADD PRIMARY KEY (turn_id)")
            connection.execute(f"ANALYZE {name}")
        size = connection.execute("SELECT pg_total_relation_size('a') + pg_total_relation_size('b')").fetchone()
        print(f"PostgreSQL: {size[0] / count / 2:.1f} bytes a row" if size else "")
        query = four_way(parts_cells.CELL_OF), by_model(parts_cells.CELL_OF)
        cells = measured("PostgreSQL four-way", lambda: connection.execute(query[0]).fetchall())
        groups = measured("PostgreSQL by model", lambda: connection.execute(query[1]).fetchall())
    return [sorted(cells), sorted(groups)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--part", type=int, default=50_000, help="responses of a part")
    parser.add_argument("--postgres", help="address of a database in whose temporary tables the same is counted")
    chosen = parser.parse_args()
    print(f"{chosen.rows:,} rows a side, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    found = in_parts(chosen.rows, chosen.part)
    if chosen.postgres:
        same = in_postgres(chosen.postgres, chosen.rows)
        print("both count the same" if same == found else f"DIFFERENT: {found} {same}")
    print(found[0])


if __name__ == "__main__":
    main()
