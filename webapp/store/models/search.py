"""The tables of the search index, which only SQL can say: raw texts by turn id, notes by `search.pending.key`."""

from __future__ import annotations

_SYMBOLS = (
    (0x20BA, 0x20C0),
    (0x218A, 0x218B),
    (0x2066, 0x2069),
    (0x23F4, 0x23FF),
    (0x2700, 0x2700),
    (0x2B4D, 0x2BFF),
    (0x2E3C, 0x2E5D),
    (0x1F19B, 0x1F1AD),
    (0x1F260, 0x1F265),
    (0x1F300, 0x1F6FF),
    (0x1F780, 0x1F7F0),
    (0x1F900, 0x1FAFF),
)
"""What Unicode has as symbols and SQLite's tables, of Unicode 6.1, have not: to those it would be part of a word."""
_separators = "".join(chr(code) for first, last in _SYMBOLS for code in range(first, last + 1))
_cut = f"tokenize=\"unicode61 remove_diacritics 0 tokenchars '_' separators '{_separators}'\", columnsize=0"

SEARCH_TABLES: dict[str, tuple[str, ...]] = {
    "sqlite": (
        f"CREATE VIRTUAL TABLE search_raw USING fts5(raw, content='', {_cut})",
        f"CREATE VIRTUAL TABLE search_note USING fts5(text, {_cut})",
    ),
    "postgresql": (
        "CREATE TABLE search_raw (rowid BIGINT PRIMARY KEY, words TSVECTOR NOT NULL)",
        "CREATE INDEX ix_search_raw_words ON search_raw USING gin (words)",
        "CREATE TABLE search_note (rowid BIGINT PRIMARY KEY, text BYTEA NOT NULL, words TSVECTOR NOT NULL)",
        "CREATE INDEX ix_search_note_words ON search_note USING gin (words)",
    ),
}
"""By database what makes them, in this order."""
