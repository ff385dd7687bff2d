"""The rows that make parts count, what was removed of them, and the purge of what does not count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa

from webapp.config import Settings
from webapp.store.db.database import writing
from webapp.store.files import file_store
from webapp.store.models import TURNS_A_SESSION, RunPart, RunPartRemoval, Session
from webapp.store.parts import part_files
from webapp.store.parts.part_files import Columns, WrittenFile

UNCLAIMED = 24 * 3600.0
"""seconds after which a file without a row is what a killed worker left"""
_query = sa.select(RunPart.__table__)


def of_profile(connection: sa.Connection, profile: str, low: int = 0, high: int = 2**62) -> Sequence[sa.Row[Any]]:
    """The parts of a profile that may hold turns of a range, the oldest first."""
    here = sa.and_(RunPart.profile == profile, RunPart.low <= high, RunPart.high >= low)
    return connection.execute(_query.where(here).order_by(RunPart.id)).all()


def are_any(connection: sa.Connection, *profiles: str) -> bool:
    return connection.scalar(sa.select(RunPart.id).where(RunPart.profile.in_(profiles)).limit(1)) is not None


def removals(connection: sa.Connection, parts: Sequence[sa.Row[Any]]) -> Sequence[sa.Row[Any]]:
    """What was removed of these parts: part_id, low, high."""
    numbers = {part.id for part in parts}
    return [row for row in connection.execute(sa.select(RunPartRemoval.__table__)) if row.part_id in numbers]


def add(connection: sa.Connection, run_id: int, about: tuple[str, str], columns: Columns, written: WrittenFile) -> None:
    """Have a file count; `about` is profile and version. What was removed of its sessions meanwhile does not."""
    low, high = columns.turn_id[0], columns.turn_id[-1]
    values = {"run_id": run_id, "profile": about[0], "version": about[1], "low": low, "high": high}
    values |= {"responses": len(columns.turn_id), **asdict(written)}
    part_id = connection.scalars(sa.insert(RunPart).values(values).returning(RunPart.id)).one()
    between = Session.id.between(low // TURNS_A_SESSION, high // TURNS_A_SESSION)
    there = set(connection.scalars(sa.select(Session.id).where(between).with_for_update(read=True, key_share=True)))
    for number in sorted({turn_id // TURNS_A_SESSION for turn_id in columns.turn_id} - there):
        first = number * TURNS_A_SESSION
        removal = {"part_id": part_id, "low": first, "high": first + TURNS_A_SESSION - 1}
        connection.execute(sa.insert(RunPartRemoval).values(removal))


def forget(connection: sa.Connection, part_ids: Sequence[int]) -> None:
    """Have parts no longer count; the purge removes their files."""
    connection.execute(sa.delete(RunPart).where(RunPart.id.in_(part_ids)))


def purge(engine: sa.Engine, settings: Settings) -> int:
    """Write parts of which turns were removed anew without them, and remove files that no row names; how many went."""
    _write_without_removed(engine, settings)
    with engine.connect() as connection:
        names = set(connection.scalars(sa.select(RunPart.name)))
    store, gone = file_store(settings), 0
    for file in list(store.files(part_files.FOLDER)):
        if file.name not in names and file.age > UNCLAIMED:
            store.remove(file.name)
            gone += 1
    part_files.remove_copies(settings, names)
    return gone


def _write_without_removed(engine: sa.Engine, settings: Settings) -> None:
    if not part_files.is_installed():
        return
    with engine.connect() as connection:
        cut_ids = sa.select(RunPartRemoval.part_id)
        parts = connection.execute(_query.where(RunPart.id.in_(cut_ids)).order_by(RunPart.id)).all()
        cuts = removals(connection, parts)
    for part in parts:
        try:
            _write_anew(engine, settings, part, [row for row in cuts if row.part_id == part.id])
        except part_files.PartDamaged:
            continue  # who reads it hears so; nothing of it counts until then


def _write_anew(engine: sa.Engine, settings: Settings, part: sa.Row[Any], cuts: Sequence[sa.Row[Any]]) -> None:
    from pyarrow import compute, parquet

    table = parquet.read_table(part_files.readable(settings, part))
    for cut in cuts:
        turn_id = table.column("turn_id")
        table = table.filter(compute.or_(compute.less(turn_id, cut.low), compute.greater(turn_id, cut.high)))
    change: sa.Update | sa.Delete = sa.delete(RunPart)
    if table.num_rows:
        low, high = (table.column("turn_id")[at].as_py() for at in (0, -1))
        written = part_files.write_table(settings, part.run_id, low, table)
        change = sa.update(RunPart).values(low=low, high=high, responses=table.num_rows, **asdict(written))
    with writing(engine) as connection:
        changed = connection.execute(change.where(RunPart.id == part.id, RunPart.name == part.name)).rowcount
        connection.execute(sa.delete(RunPartRemoval).where(RunPartRemoval.id.in_([cut.id for cut in cuts])))
    if changed:
        file_store(settings).remove(part.name)
