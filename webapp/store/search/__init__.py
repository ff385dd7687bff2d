"""Full-text search over raw texts, errors, label notes, ids and titles: SQLite's FTS5, PostgreSQL's tsvector."""

# ruff: noqa: F401 - what others import from here

from importlib import import_module
from typing import TYPE_CHECKING, Any

from webapp.store.search.folding import Block, Text, in_blocks
from webapp.store.search.pending import MOST_BYTES, NOTHING, SLOTS, Kind, Note, Pending, errors, session_notes

if TYPE_CHECKING:
    from webapp.store.search.finding import Found, Match, find, show, walk
    from webapp.store.search.index import clear, forget_errors, index_notes, indexed, is_indexed, lacking, noted, remove
    from webapp.store.search.walking import Allowed, Hits

_MODULES = {
    "finding": ("Found", "Match", "find", "show", "walk"),
    "index": ("clear", "forget_errors", "index_notes", "indexed", "is_indexed", "lacking", "noted", "remove"),
    "walking": ("Allowed", "Hits"),
}
"""what needs the database, and with it SQLAlchemy: not imported before somebody asks for it"""
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
