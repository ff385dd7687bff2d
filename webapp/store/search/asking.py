"""Asks the database where a query's words stand: keys of texts in a range, from either end, in one statement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import sqlalchemy as sa

from webapp.store.search.query import Query, Term
from webapp.store.search.words import kept

Table = Literal["search_raw", "search_note"]
Condition = sa.ColumnElement[bool]
rowid: dict[Table, sa.ColumnClause[int]] = {
    name: sa.table(name, sa.column("rowid", sa.BigInteger())).c.rowid for name in ("search_raw", "search_note")
}
"""the key of a text: of a raw one its turn's id, of a note as `search_texts.key` has it"""


def expression(connection: sa.Connection, query: Query) -> str | None:
    """`query` in the database's own language; None where nothing can match.

    From here to the end of its transaction PostgreSQL plans each statement for its own words: a plan for any words
    reads all of a common word's places.
    """
    if not query.required:
        return None
    if connection.dialect.name == "sqlite":
        together = " AND ".join(map(_phrase, query.required))
        return f"({together}) NOT ({' OR '.join(map(_phrase, query.excluded))})" if query.excluded else together
    connection.exec_driver_sql("SET LOCAL plan_cache_mode = force_custom_plan")
    return " & ".join([*map(_tsterm, query.required), *(f"!{_tsterm(term)}" for term in query.excluded)])


def keys(
    connection: sa.Connection, table: Table, match: str, *where: Condition, newest: bool, limit: int
) -> Sequence[int]:
    """At most `limit` keys of texts that match, in order; `where` may speak of `rowid`."""
    key = rowid[table]
    query = sa.select(key).where(_matches(connection, table, match), *where)
    return connection.scalars(query.order_by(key.desc() if newest else key).limit(limit)).all()


def _matches(connection: sa.Connection, table: Table, match: str) -> Condition:
    if connection.dialect.name == "sqlite":
        return sa.literal_column(table).bool_op("MATCH")(match)
    return sa.literal_column(f"{table}.words").bool_op("@@")(sa.func.to_tsquery("simple", match))


def _phrase(term: Term) -> str:
    """FTS5's own words stand outside of quotes only."""
    return f'"{" ".join(term.tokens)}"' + (" *" if term.prefix else "")


def _tsterm(term: Term) -> str:
    text = " <-> ".join(f"'{kept(token)}'" for token in term.tokens)
    return f"({text}{':*' if term.prefix else ''})"
