"""Full-text search over raw texts, errors, label notes, ids and titles: SQLite's FTS5, PostgreSQL's tsvector."""

from webapp.store.search.finding import Allowed, Found, Hits, Match, find, show, walk
from webapp.store.search.index import (
    SLOTS,
    Note,
    Pending,
    clear,
    errors,
    index_notes,
    index_turns,
    indexed,
    is_indexed,
    lacking,
    noted,
    remove,
    session_notes,
)
from webapp.store.search.query import Query, parse

__all__ = [
    "SLOTS",
    "Allowed",
    "Found",
    "Hits",
    "Match",
    "Note",
    "Pending",
    "Query",
    "clear",
    "errors",
    "find",
    "index_notes",
    "index_turns",
    "indexed",
    "is_indexed",
    "lacking",
    "noted",
    "parse",
    "remove",
    "session_notes",
    "show",
    "walk",
]
