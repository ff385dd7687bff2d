"""A session as it came, and what its row has before anything is made of its turns."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from webapp.dumps.records import SessionStart, Turn
from webapp.store.write.home import Home


class SessionInput(NamedTuple):
    """A session as a dump gave it, and the home profile it is read under; its turns can be gone through again."""

    start: SessionStart
    turns: Iterable[Turn]
    home: Home


def columns(session: SessionInput, external_id: str, revision: int, key: str, dump_id: int) -> dict[str, Any]:
    """The columns of `session` that are known before its turns."""
    start, home, now = session.start, session.home, datetime.now(UTC)
    return {
        "dump_id": dump_id,
        "external_id": external_id,
        "revision": revision,
        "key": key,
        "title": start.title,
        "source_format": start.source_format[:64],
        "home_profile": home.profile,
        "home_source": home.source,
        "service": start.service,
        "models": [],
        "ingested_at": now,
        "happened_at": now,
        "extra": start.extra or None,
        "stale": True,
    }
