"""Makes a database of the first revision.

`first_tables.jsonl` holds the rows that the last version of revision 0001 wrote for two sessions, two labels and a
replay: one a line, bytes as the text or the hexadecimal digits that they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic.runtime.environment import EnvironmentContext
from alembic.script import ScriptDirectory

from webapp.store.db import database

ROWS = Path(__file__).with_name("first_tables.jsonl")
IDS = {"session": 2, "parse": 9, "turn": 2 << 24}
"""by how much a copy's ids are higher"""
COPIED = ("session", "turn", "parse", "parse_repair")


def upgrade_whole(engine: sa.Engine, target: str) -> None:
    """Bring it to a revision in one transaction, as Alembic's own commands do."""
    _run(engine, lambda script, at: script._upgrade_revs(target, at))


def downgrade(engine: sa.Engine, target: str) -> None:
    """Take it back to a revision, or to "base"."""
    _run(engine, lambda script, at: script._downgrade_revs(target, at))


def _run(engine: sa.Engine, revisions: Callable[[ScriptDirectory, Any], Any]) -> None:
    config = database.alembic_config()
    script = ScriptDirectory.from_config(config)
    step = EnvironmentContext(config, script, fn=lambda at, _: revisions(script, at))
    with database.writing(engine) as connection, step as context:
        context.configure(connection=connection)
        context.run_migrations()


def first_revision(engine: sa.Engine, copies: int = 0) -> None:
    """Make the tables of 0001 and fill them; `copies` more of the sessions with what is parsed of them."""
    upgrade_whole(engine, "0001")
    tables = sa.MetaData()
    tables.reflect(engine)
    rows = [json.loads(line) for line in ROWS.read_text().splitlines()]
    with engine.begin() as connection:
        for row in [*rows, *(copied(row, copy) for copy in range(1, copies + 1) for row in rows)]:
            if row is not None:
                table = tables.tables[row["table"]]
                values = {name: as_stored(table.c[name], value) for name, value in row.items() if name != "table"}
                connection.execute(table.insert(), values)
        if engine.dialect.name == "postgresql":
            for name in ("dump", "run", "session", "label", "parse"):
                text = f"SELECT setval(pg_get_serial_sequence('{name}', 'id'), (SELECT max(id) FROM {name}))"
                connection.exec_driver_sql(text)


def copied(row: dict[str, Any], copy: int) -> dict[str, Any] | None:
    """The same row of a copy of its session; None of a table that is not copied."""
    if row["table"] not in COPIED:
        return None
    new = dict(row)
    for name, table in (("id", row["table"]), ("session_id", "session"), ("turn_id", "turn"), ("duplicate_of", "turn")):
        if row.get(name) is not None:
            new[name] = row[name] + copy * IDS[table]
    if row["table"] == "session":
        new |= {"key": f"{copy:04}{row['key']}", "external_id": {"utf8": f"{row['external_id']['utf8']}-{copy}"}}
    return new


def as_stored(column: sa.Column[Any], value: Any) -> Any:
    if isinstance(value, dict):
        return bytes.fromhex(value["hex"]) if "hex" in value else value["utf8"].encode()
    if isinstance(column.type, sa.DateTime) and value is not None:
        return datetime.fromisoformat(value).replace(tzinfo=UTC)
    return bool(value) if isinstance(column.type, sa.Boolean) else value
