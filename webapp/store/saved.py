"""What somebody saved for everybody under a name: views of the list, mappings, rules of parsers, causes of their
own; the samples that were drawn, and what a webhook was told.

What the `content` has, the module of its kind says.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.db.dialect import upsert
from webapp.store.models import SavedItem

Database = sa.Connection | orm.Session
"""whose transaction the caller ends"""


def put(db: Database, kind: str, name: str, content: Mapping[str, Any], author: str = "") -> None:
    """Save it, in place of what was saved under that name before."""
    about = {"content": dict(content), "author": author, "made_at": datetime.now(UTC)}
    db.execute(upsert(SavedItem, {"kind": kind, "name": name, **about}, ("kind", "name")))


def every(db: Database, *kinds: str) -> list[SavedItem]:
    """All of these kinds, by kind and name."""
    query = sa.select(SavedItem.__table__).where(SavedItem.kind.in_(kinds)).order_by(SavedItem.kind, SavedItem.name)
    return [SavedItem(**row._mapping) for row in db.execute(query)]


def find(db: Database, kind: str, name: str | int) -> SavedItem | None:
    """The one of that name, or number."""
    is_it = SavedItem.id == name if isinstance(name, int) else SavedItem.name == name
    row = db.execute(sa.select(SavedItem.__table__).where(SavedItem.kind == kind, is_it)).first()
    return None if row is None else SavedItem(**row._mapping)


def remove(db: Database, number: int, *kinds: str) -> SavedItem | None:
    """Take the one with that number away; what it was, None where there is none of these kinds."""
    deletion = (
        sa.delete(SavedItem).where(SavedItem.id == number, SavedItem.kind.in_(kinds)).returning(SavedItem.__table__)
    )
    row = db.execute(deletion).first()
    return None if row is None else SavedItem(**row._mapping)
