"""Full-text search over raw texts, errors, label notes, ids and titles: SQLite's FTS5, PostgreSQL's tsvector."""

# ruff: noqa: F401 - what others import from here

from webapp.store.db.ids import SLOTS, Kind, Note, Text, session_notes
from webapp.store.search.finding import Found, FoundSessions, Match, find, matches, sessions
from webapp.store.search.index import (
    forget_errors,
    index_notes,
    index_turns,
    noted,
    rebuild,
    remove,
)
