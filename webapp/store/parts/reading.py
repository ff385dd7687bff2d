"""What runs made of responses, out of the database and out of parts, as relations of DuckDB."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import pairwise
from typing import Any

import sqlalchemy as sa

from webapp.config import Settings
from webapp.store.models import TURNS_A_SESSION, Parse, Session
from webapp.store.parts import manifest, part_files

COLUMNS = "turn_id, verdict, value_digest, failure_group"
_AT_ONCE = 50_000


@contextmanager
def opened(settings: Settings) -> Iterator[Any]:
    """A DuckDB of its own, which leaves a processor to the pages. Raises `MissingLibrary`."""
    part_files.refuse_without_libraries()
    import duckdb

    settings.data.mkdir(parents=True, exist_ok=True)
    config: dict[str, Any] = dict.fromkeys(("autoinstall_known_extensions", "autoload_known_extensions"), "false")
    config["threads"] = max(1, (os.cpu_count() or 1) - 1)
    config["temp_directory"] = str(settings.data / "parts-spilled")
    with closing(duckdb.connect(config=config)) as duck:
        yield duck


def relate(duck: Any, name: str, connection: sa.Connection, settings: Settings, profile: str) -> None:
    """Have `name` be what the profile made of every response that is not hidden: turn_id, verdict, value_digest.

    The database's parse, else that of the newest part. Raises `PartDamaged`.
    """
    visible = f"turn_id // {TURNS_A_SESSION} NOT IN (SELECT session_id FROM {name}_hidden)"
    hidden = connection.scalars(sa.select(Session.id).where(Session.deleted_at.is_not(None))).all()
    _fill(duck, f"{name}_hidden", "session_id BIGINT", [(number,) for number in hidden])
    columns = "turn_id BIGINT, verdict TEXT, value_digest BIGINT"
    _fill(duck, f"{name}_stored", columns, [])
    query = sa.select(Parse.turn_id, Parse.verdict, Parse.value_digest).where(Parse.profile == profile)
    with connection.execute(query.execution_options(yield_per=_AT_ONCE)) as result:
        for rows in result.partitions():
            _insert(duck, f"{name}_stored", columns, rows)
    parts = manifest.of_profile(connection, profile)
    both = f"SELECT turn_id, verdict, value_digest FROM {name}_stored"
    if parts:
        in_parts = _select(duck, name, connection, settings, parts)
        absent = f"NOT EXISTS (FROM {name}_stored s WHERE s.turn_id = p.turn_id)"
        both += f" UNION ALL SELECT turn_id, verdict, value_digest FROM ({in_parts}) p WHERE {absent}"
    duck.execute(f"CREATE VIEW {name} AS SELECT * FROM ({both}) WHERE {visible}")


def of_turns(connection: sa.Connection, settings: Settings, profile: str, turn_ids: Sequence[int]) -> dict[int, Any]:
    """(verdict, value_digest, failure_group) of those of these turns that parts of the profile hold.

    Raises `PartDamaged` and `MissingLibrary`; `settings` say where parts lie.
    """
    parts = manifest.of_profile(connection, profile, min(turn_ids), max(turn_ids)) if turn_ids else []
    if not parts:
        return {}
    with opened(settings) as duck:
        _fill(duck, "wanted", "turn_id BIGINT", [(number,) for number in turn_ids])
        select = _select(duck, "p", connection, settings, parts)
        rows = duck.execute(f"SELECT {COLUMNS} FROM ({select}) SEMI JOIN wanted USING (turn_id)").fetchall()
    return {row[0]: row[1:] for row in rows}


def verdicts(
    connection: sa.Connection, settings: Settings, about: tuple[str, str], low: int, high: int
) -> tuple[dict[int, str], list[int]]:
    """The verdicts by turn in the parts of (profile, version) in a range, and the numbers of parts that are damaged."""
    parts = [part for part in manifest.of_profile(connection, about[0], low, high) if part.version == about[1]]
    damaged: list[int] = []
    for part in parts:
        try:
            part_files.readable(settings, part)
        except part_files.PartDamaged:
            damaged.append(part.id)
    parts = [part for part in parts if part.id not in damaged]
    if not parts:
        return {}, damaged
    with opened(settings) as duck:
        select = _select(duck, "p", connection, settings, parts)
        between = duck.execute(f"SELECT turn_id, verdict FROM ({select}) WHERE turn_id BETWEEN {low} AND {high}")
        return dict(between.fetchall()), damaged


def _select(duck: Any, name: str, connection: sa.Connection, settings: Settings, parts: Sequence[sa.Row[Any]]) -> str:
    """SQL for the rows of parts that count: of a turn the one of the newest part, and none that was removed."""
    paths = {str(part_files.readable(settings, part)): part for part in parts}
    cuts = manifest.removals(connection, parts)
    listed = ", ".join(_quoted(path) for path in paths)
    if not cuts and not _overlap(parts):
        return f"SELECT {COLUMNS} FROM read_parquet([{listed}])"
    _fill(duck, f"{name}_parts", "path TEXT, part_id BIGINT", [(path, part.id) for path, part in paths.items()])
    _fill(duck, f"{name}_cuts", "part_id BIGINT, low BIGINT, high BIGINT", [tuple(row[1:]) for row in cuts])
    cut = f"FROM {name}_cuts c WHERE c.part_id = f.part_id AND r.turn_id BETWEEN c.low AND c.high"
    rows = f"read_parquet([{listed}], filename = true) r JOIN {name}_parts f ON f.path = r.filename"
    newest = "row_number() OVER (PARTITION BY turn_id ORDER BY f.part_id DESC) = 1"
    return f"SELECT {COLUMNS} FROM {rows} WHERE NOT EXISTS ({cut}) QUALIFY {newest}"


def _quoted(path: str) -> str:
    """A path as `read_parquet` takes it, which would read some characters as a pattern."""
    plain = re.sub(r"[*?\[]", r"[\g<0>]", path)
    return "'" + plain.replace("'", "''") + "'"


def _overlap(parts: Sequence[sa.Row[Any]]) -> bool:
    ranges = sorted((part.low, part.high) for part in parts)
    return any(low <= high for (_, high), (low, _) in pairwise(ranges))


def _fill(duck: Any, name: str, columns: str, rows: Sequence[Sequence[Any]]) -> None:
    """A table with these columns, `name TYPE, …`, and rows."""
    duck.execute(f"CREATE TABLE {name} ({columns})")
    _insert(duck, name, columns, rows)


def _insert(duck: Any, name: str, columns: str, rows: Sequence[Sequence[Any]]) -> None:
    import pyarrow as pa

    if rows:
        names = [column.split()[0] for column in columns.split(", ")]
        batch = pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
        duck.register("batch", batch)
        duck.execute(f"INSERT INTO {name} SELECT * FROM batch")
        duck.unregister("batch")
