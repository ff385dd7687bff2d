"""Tools that somebody names for sessions whose log has none: held from then on as if their requests declared them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from webapp.store import derive
from webapp.store.db import database
from webapp.store.db.ids import batched
from webapp.store.models import Declaration, Session, Turn
from webapp.store.write import declarations

SOURCE = "file"
_AT_ONCE = 500
_calls = (
    sa.select(Turn.id, Turn.declaration_id)
    .where(Turn.session_id == sa.bindparam("session"), Turn.kind == "tool_call", Turn.duplicate_of.is_(None))
    .order_by(Turn.id)
)
_content = sa.select(Declaration.content).where(Declaration.id == sa.bindparam("declaration"))


def tell(engine: sa.Engine, keys: Iterable[str], tools: dict[str, Any]) -> int:
    """Hold the calls of these sessions whose own request names no tools against `tools`; how many calls these are."""
    with engine.connect() as connection:
        ids = list(connection.scalars(sa.select(Session.id).where(Session.key.in_(list(keys))).order_by(Session.id)))
    return sum(_tell(engine, session_id, tools) for session_id in ids)


def _tell(engine: sa.Engine, session_id: int, tools: dict[str, Any]) -> int:
    with database.writing(engine) as connection:
        turns: dict[int | None, list[int]] = defaultdict(list)
        for row in connection.execute(_calls, {"session": session_id}):
            turns[row.declaration_id].append(row.id)
        count = 0
        for number, of_declaration in turns.items():
            content = {} if number is None else connection.scalars(_content, {"declaration": number}).one()
            if content.get("tools") is None or content.get("source") == SOURCE:
                declaration_id = declarations.stored(connection, {**content, **tools, "source": SOURCE})
                for batch in batched(of_declaration, _AT_ONCE):
                    connection.execute(sa.update(Turn).where(Turn.id.in_(batch)).values(declaration_id=declaration_id))
                count += len(of_declaration)
        if count:
            derive.derive(connection, [session_id])
        return count
