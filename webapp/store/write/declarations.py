"""What turns declare, as rows: a declaration's number is the hash of its content, so that it needs no looking up."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from webapp import jsontext
from webapp.store.db import types
from webapp.store.db.database import writing
from webapp.store.db.dialect import insert_new, take_locks
from webapp.store.models import Declaration, Turn

COLUMN = "declaration_id"
_table = sa.table("declaration", sa.column("id"), sa.column("content", sa.types.NullType()))
_LOCK = 0x4445434C
"""an arbitrary number of our own for PostgreSQL's advisory lock: shared by who refers to declarations"""


class Declared(NamedTuple):
    """A declaration on its way into the database, in the place of its number."""

    id: int
    content: bytes


_last: tuple[Any, Declared | None] = (None, None)


def declared(content: dict[str, Any] | None) -> Declared | None:
    """What stands in a turn's row; of the object that was asked about last, the same."""
    global _last
    if content is None:
        return None
    if _last[0] is not content:
        _last = (content, _declared(content))
    return _last[1]


def _declared(content: dict[str, Any]) -> Declared | None:
    try:
        text = jsontext.dumps(content).encode("ascii")
    except RecursionError:
        return None
    return Declared(int.from_bytes(hashlib.sha256(text).digest()[:8]) >> 1, types.pack(text))


def stored(connection: sa.Connection, content: dict[str, Any]) -> int | None:
    """The number of a declaration, which is stored where it is new; None of one that is nested too deep."""
    declaration = _declared(content)
    _store(connection, {} if declaration is None else {declaration.id: declaration.content})
    return None if declaration is None else declaration.id


def put(connection: sa.Connection, batch: Sequence[dict[str, Any]]) -> None:
    """Give turns' rows the numbers of their declarations, which are stored where they are new."""
    declaring = [row for row in batch if isinstance(row[COLUMN], Declared)]
    _store(connection, {row[COLUMN].id: row[COLUMN].content for row in declaring})
    for row in declaring:
        row[COLUMN] = row[COLUMN].id


def _store(connection: sa.Connection, contents: dict[int, bytes]) -> None:
    """Store those that are new; none of them goes before the caller commits what refers to them."""
    if not contents:
        return
    take_locks(connection, _LOCK, shared=True)
    values = [{"id": number, "content": contents[number]} for number in sorted(contents)]
    connection.execute(insert_new(_table, values, ("id",)))


def remove_orphans(engine: sa.Engine) -> int:
    """Remove the declarations that no turn refers to any more; how many went."""
    is_used = sa.exists().where(Turn.declaration_id == Declaration.id)
    with writing(engine) as connection:
        take_locks(connection, _LOCK)
        return connection.execute(sa.delete(Declaration).where(~is_used)).rowcount
