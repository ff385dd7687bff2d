"""Full-text search over raw texts, errors, label notes, ids and titles: SQLite's FTS5, PostgreSQL's tsvector."""

# ruff: noqa: F401 - what others import from here

from webapp.store.search.finding import Found, Match, find, show, walk
from webapp.store.search.index import (
    MOST_BYTES,
    SLOTS,
    Kind,
    Note,
    Pending,
    Text,
    clear,
    errors,
    forget_errors,
    index_notes,
    indexed,
    is_indexed,
    lacking,
    noted,
    remove,
    session_notes,
)
from webapp.store.search.walking import Allowed, Hits
