"""Which files of the index a database knows: one that was restored, copied or begun anew does not know newer ones.

A mark is written behind its file. So a database that has it holds all that the file holds, whatever came after.
"""

from __future__ import annotations

import hashlib

import sqlalchemy as sa

from webapp.store.db import database, dialect
from webapp.store.models import DatabaseSecret

_NAME = "index files"
_MOST = 20
"""files that are known at once: of as many machines, or of one that wrote its file so many times"""
_SIZE = 16
_marks = sa.select(DatabaseSecret.value).where(DatabaseSecret.name == _NAME)


def is_known(connection: sa.Connection, mark: str) -> bool:
    return _digest(connection.engine, mark) in _split(connection.scalar(_marks))


def put(engine: sa.Engine, mark: str) -> None:
    """Have the database know the file with that mark from now on."""
    with database.writing(engine) as connection:
        known = _split(connection.scalar(_marks.with_for_update()))
        value = b"".join([*known, _digest(engine, mark)][-_MOST:])
        row = {"name": _NAME, "value": value}
        connection.execute(dialect.upsert(engine.dialect.name, DatabaseSecret.__table__, row, ("name",)))


def _digest(engine: sa.Engine, mark: str) -> bytes:
    """With the database's address: a copy of it elsewhere goes its own way."""
    return hashlib.sha256(f"{engine.url.render_as_string()} {mark}".encode()).digest()[:_SIZE]


def _split(value: bytes | None) -> list[bytes]:
    data = bytes(value or b"")
    return [data[at : at + _SIZE] for at in range(0, len(data), _SIZE)]
