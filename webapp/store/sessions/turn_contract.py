"""How one response keeps what its request declares, as it is stored."""

from __future__ import annotations

from typing import Any

from sqlalchemy import orm

from webapp.contracts import Contract
from webapp.store.models import MODEL_KINDS, Declaration, Turn, TurnContract


def of_turn(db: orm.Session, turn: Turn) -> dict[str, Any] | None:
    """The contract as the API gives it; None of what no model wrote."""
    if turn.kind not in MODEL_KINDS:
        return None
    tool = turn.agent if turn.kind == "tool_call" else None
    held = db.get(TurnContract, turn.id)
    if held is None:
        why = "the log does not say what its request declares"
        return Contract("not_declared", tool, reason=why).as_dict()
    if held.detail is None:
        return Contract("kept", tool, "request").as_dict()
    return held.detail


def declared_of(db: orm.Session, turn: Turn) -> dict[str, Any] | None:
    """What the request of a turn declares; None where the log does not say."""
    declaration = None if turn.declaration_id is None else db.get(Declaration, turn.declaration_id)
    return None if declaration is None else declaration.content
