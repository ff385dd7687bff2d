"""Dumps made for the store's tests, and the types of its fixtures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import orm

from webapp.store.ingest.start import IngestResult
from webapp.store.labels.queues import queue
from webapp.store.labels.queues.queue_spec import Spec
from webapp.store.models import LabelQueue

Bring = Callable[..., IngestResult]
BringRecords = Callable[..., IngestResult]

CALL = '```json\n{"tool": "run_code", "arguments": {"code": "1"}}\n```'
BROKEN = '```json\n{"tool": "run_code", "arguments": {"code": "1"}}}}\n```'


def entry(content: Any, node_type: str = "agent", role: str | None = None, **fields: Any) -> dict[str, Any]:
    """A Windlass entry."""
    roles = {"agent": "agent", "turn_output": "assistant", "validation_error": "user", "turn_input": "user"}
    return {"node_type": node_type, "role": role or roles.get(node_type), "content": content, **fields}


def windlass(session_id: str, entries: Sequence[Any], **fields: Any) -> dict[str, Any]:
    """A Windlass session dump."""
    return {"session_id": session_id, "entry_count": len(entries), "entries": list(entries), **fields}


def complete(db: orm.Session, spec: Spec) -> LabelQueue:
    """The queue with every session gone through."""
    made = queue.opened(db, spec)
    while not queue.extend(db, made, spec, seconds=60):
        pass
    return made
