"""Dumps made for the store's tests, and the types of its fixtures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.ingest.start import IngestResult
from webapp.store.models import FacetValue, Session, SessionFacet

Bring = Callable[..., IngestResult]
BringRecords = Callable[..., IngestResult]
on_sqlite = pytest.mark.parametrize("url", ["sqlite"], indirect=True)
"""for a test in which both kinds of database are asked the same, and others ask it of both"""

CALL = '```json\n{"tool": "run_code", "arguments": {"code": "1"}}\n```'
BROKEN = '```json\n{"tool": "run_code", "arguments": {"code": "1"}}}}\n```'


def entry(content: Any, node_type: str = "agent", role: str | None = None, **fields: Any) -> dict[str, Any]:
    """A Windlass entry."""
    roles = {"agent": "agent", "turn_output": "assistant", "validation_error": "user", "turn_input": "user"}
    return {"node_type": node_type, "role": role or roles.get(node_type), "content": content, **fields}


def windlass(session_id: str, entries: Sequence[Any], **fields: Any) -> dict[str, Any]:
    """A Windlass session dump."""
    return {"session_id": session_id, "entry_count": len(entries), "entries": list(entries), **fields}


def facets(db: orm.Session, external_id: str, revision: int = 1) -> dict[str, dict[str, int]]:
    """How often a session has each value, by name."""
    query = sa.select(FacetValue.name, FacetValue.value, SessionFacet.count)
    query = query.join(SessionFacet, SessionFacet.value_id == FacetValue.id)
    query = query.join(Session, Session.id == SessionFacet.session_id)
    query = query.where(Session.external_id == external_id, Session.revision == revision)
    counts: dict[str, dict[str, int]] = {}
    for name, value, count in db.execute(query.order_by(FacetValue.value)):
        counts.setdefault(name, {})[value] = count
    return counts
