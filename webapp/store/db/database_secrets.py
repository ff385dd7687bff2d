"""Random values that all machines of one database share."""

from __future__ import annotations

import sqlalchemy as sa

from webapp.store.db import database, dialect

_table = sa.table("database_secret", sa.column("name", sa.String), sa.column("value", sa.LargeBinary))


def kept(engine: sa.Engine, name: str, fresh: bytes) -> bytes:
    """The value of that name; `fresh` where there is none yet, which is kept: of two at once both get the same."""
    with database.writing(engine) as connection:
        connection.execute(dialect.insert_new(engine.dialect.name, _table, {"name": name, "value": fresh}, ("name",)))
        return bytes(connection.scalars(sa.select(_table.c.value).where(_table.c.name == name)).one())
