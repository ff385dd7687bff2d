"""Asks the database where a query's words stand: keys of texts in a range, from either end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import sqlalchemy as sa

from webapp.store.search import blocks
from webapp.store.search.blocks import BlockQuery
from webapp.store.search.query import Query, Term
from webapp.store.search.words import shortened

Table = Literal["search_raw", "search_note"]

MOST_ENDINGS = 200
"""How many words a prefix may stand for in raw texts: the first in the alphabet. SQLite would read all their places
before it gave the first one."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A query in the database's own language, one for each table; None where nothing there can match.

    `cut` says that a prefix stands for more words than were looked for.
    """

    raw: str | BlockQuery | None
    note: str | None
    cut: bool


def expression(connection: sa.Connection, query: Query) -> Expression:
    """`query` for this database.

    From here to the end of its transaction PostgreSQL plans each statement for its own words: a plan for any words,
    as it makes one for what it was often asked, reads all of a common word's places and sorts them for each page.
    """
    if not query.required:
        return Expression(None, None, query.cut)
    if connection.dialect.name != "sqlite":
        connection.exec_driver_sql("SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL jit = off")
        excluded_terms = [f"!({_tsterm(term)})" for term in query.excluded]
        text = " & ".join([*map(_tsterm, query.required), *excluded_terms])
        return Expression(blocks.block_query(query), text, query.cut)
    alternatives = [_endings(connection, term) for term in query.required]
    excluded = [_endings(connection, term) for term in query.excluded]
    raw = None
    if all(words for words, _ in alternatives):
        raw = _match([_either(words) for words, _ in alternatives], [word for words, _ in excluded for word in words])
    note = _match([_phrase(term) for term in query.required], [_phrase(term) for term in query.excluded])
    return Expression(raw, note, query.cut or any(more for _, more in alternatives + excluded))


def keys(
    connection: sa.Connection,
    table: Table,
    match: str | BlockQuery,
    between: tuple[int, int],
    *,
    newest: bool,
    limit: int,
) -> list[int]:
    """At most `limit` keys of texts that match, from `between[0]` on and below `between[1]`, in order."""
    if isinstance(match, BlockQuery):
        return blocks.turns(connection, match, between, newest=newest, limit=limit)
    order = "DESC" if newest else "ASC"
    low, high = between
    if connection.dialect.name == "sqlite":
        statement = (
            f"SELECT rowid FROM {table} WHERE {table} MATCH ? AND rowid >= ? AND rowid <= ?"  # noqa: S608
            f" ORDER BY rowid {order} LIMIT ?"
        )
        return _raw(connection, statement, (match, low, high - 1, limit))
    statement = (
        f"SELECT id FROM {table} WHERE words @@ CAST(:match AS tsquery) AND id >= :low AND id < :high"  # noqa: S608
        f" ORDER BY id {order} LIMIT :limit"
    )
    rows = connection.execute(sa.text(statement), {"match": match, "low": low, "high": high, "limit": limit})
    return [row[0] for row in rows]


def _raw(connection: sa.Connection, statement: str, parameters: tuple[str | int, ...]) -> list[int]:
    """One column by the driver itself: a search asks a hundred times, in less time each than SQLAlchemy adds."""
    cursor = connection.connection.cursor()
    try:
        cursor.execute(statement, parameters)
        return [row[0] for row in cursor.fetchall()]
    finally:
        cursor.close()


def _match(required: list[str], excluded: list[str]) -> str:
    """FTS5's own words stand outside of quotes only here; `required` and `excluded` are quoted."""
    together = " AND ".join(required)
    return f"({together}) NOT ({' OR '.join(excluded)})" if excluded else together


def _either(phrases: list[str]) -> str:
    return phrases[0] if len(phrases) == 1 else f"({' OR '.join(phrases)})"


def _phrase(term: Term) -> str:
    return f'"{" ".join(term.tokens)}"' + (" *" if term.prefix else "")


def _endings(connection: sa.Connection, term: Term) -> tuple[list[str], bool]:
    """The phrases that a term stands for in raw texts, and whether there are more."""
    if not term.prefix:
        return [_phrase(term)], False
    *head, last = term.tokens
    words: list[str] = []
    for word in _beginning_with(connection, last):
        if len(words) >= MOST_ENDINGS:
            return words, True
        words.append(_phrase(Term((*head, word), False)))
    return words, False


def _beginning_with(connection: sa.Connection, prefix: str) -> Iterator[str]:
    """Words of raw texts that begin so, by seeking from each to the next: to count their places would take long."""
    statement = "SELECT term FROM search_words WHERE term >= ? LIMIT 1"
    word = connection.exec_driver_sql(statement, (prefix,)).scalar()
    while word is not None and word.startswith(prefix):
        yield word
        word = connection.exec_driver_sql(statement, (word + "\x01",)).scalar()


def _tsterm(term: Term) -> str:
    text = " <-> ".join(f"'{shortened(token.encode()).decode()}'" for token in term.tokens)
    return f"({text}{':*' if term.prefix else ''})"
