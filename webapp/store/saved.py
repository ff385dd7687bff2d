"""What somebody saved for everybody under a name: views of the list, mappings, rules of parsers, causes of their
own; and the samples that were drawn.

What the `content` has, the module of its kind says.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.dialect import upsert
from webapp.store.models import SavedItem

Database = sa.Connection | orm.Session
"""whose transaction the caller ends"""


class Saved(NamedTuple):
    """One of them, saved last by the author at that time."""

    id: int
    kind: str
    name: str
    content: dict[str, Any]
    author: str
    made_at: datetime


_columns = tuple(getattr(SavedItem, name) for name in Saved._fields)


def put(db: Database, kind: str, name: str, content: Mapping[str, Any], author: str = "") -> None:
    """Save it, in place of what was saved under that name before."""
    about = {"content": dict(content), "author": author, "made_at": datetime.now(UTC)}
    db.execute(upsert(SavedItem, {"kind": kind, "name": name, **about}, ("kind", "name")))


def every(db: Database, *kinds: str) -> list[Saved]:
    """All of these kinds, by kind and name."""
    query = sa.select(*_columns).where(SavedItem.kind.in_(kinds)).order_by(SavedItem.kind, SavedItem.name)
    return [Saved(*row) for row in db.execute(query)]


def find(db: Database, kind: str, name: str | int) -> Saved | None:
    """The one of that name, or number."""
    is_it = SavedItem.id == name if isinstance(name, int) else SavedItem.name == name
    row = db.execute(sa.select(*_columns).where(SavedItem.kind == kind, is_it)).first()
    return None if row is None else Saved(*row)


def remove(db: Database, number: int, *kinds: str) -> Saved | None:
    """Take the one with that number away; what it was, None where there is none of these kinds."""
    deletion = sa.delete(SavedItem).where(SavedItem.id == number, SavedItem.kind.in_(kinds)).returning(*_columns)
    row = db.execute(deletion).first()
    return None if row is None else Saved(*row)
