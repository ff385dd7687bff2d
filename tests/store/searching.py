"""Searches all sessions, as the list does."""

from __future__ import annotations

import sqlalchemy as sa

from webapp.store import search
from webapp.store.models import Session


def found_in_all(connection: sa.Connection, query: str, most: int = 100) -> list[search.Match]:
    """The matches in the newest sessions."""
    ids, _ = search.sessions(connection, query, [Session.deleted_at.is_(None)], most=most)
    return search.matches(connection, query, ids)
