"""Writes blocks of turns into PostgreSQL's index, and finds turns by them.

Which turns of a block match, their folded texts say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import sqlalchemy as sa

from webapp.store.db.copying import copy_rows
from webapp.store.db.ids import TURNS_A_SESSION
from webapp.store.search.folding import Block, needle
from webapp.store.search.query import Query, Term
from webapp.store.search.words import shortened

_AT_ONCE = 32
_MOST_AT_ONCE = 256
"""blocks that are read at once, at first and at most; twice as many each time"""


@dataclass(frozen=True, slots=True)
class BlockQuery:
    """A tsquery of the blocks that may hold a match, and what the folded text of a turn must hold and lack."""

    words: str
    required: tuple[str, ...]
    excluded: tuple[str, ...]


def block_query(query: Query) -> BlockQuery:
    """`query` as it is asked here."""
    words = " & ".join(dict.fromkeys(word for term in query.required for word in _lexemes(term)))
    return BlockQuery(words, _needles(query.required), _needles(query.excluded))


def write(connection: sa.Connection, blocks: Sequence[Block]) -> None:
    """Add blocks."""
    copy_rows(
        connection, "search_raw", {"id": "int8", "words": "bytea"}, (text for block in blocks for text in block.texts)
    )
    copy_rows(
        connection, "search_block", {"id": "int8", "last": "int8", "words": "bytea"}, (block.row for block in blocks)
    )


def remove(connection: sa.Connection, low: int, high: int) -> None:
    """Take out the texts of turns from `low` on and below `high`, all of one session and up to its end."""
    for table in ("search_raw", "search_block"):
        statement = f"DELETE FROM {table} WHERE id >= :low AND id < :high"  # noqa: S608
        connection.execute(sa.text(statement), {"low": low, "high": high})
    first = low // TURNS_A_SESSION * TURNS_A_SESSION
    shorten = "UPDATE search_block SET last = :low - 1 WHERE id >= :first AND id < :low AND last >= :low"
    connection.execute(sa.text(shorten), {"first": first, "low": low})


def turns(
    connection: sa.Connection, query: BlockQuery, between: tuple[int, int], *, newest: bool, limit: int
) -> list[int]:
    """At most `limit` turns whose texts match, from `between[0]` on and below `between[1]`, in order."""
    low, high = between
    statement = _statement("DESC" if newest else "ASC", len(query.required), len(query.excluded))
    values: dict[str, str | int] = {"words": query.words, "low": low, "high": high, "at_once": _AT_ONCE}
    values |= {f"required_{at}": text for at, text in enumerate(query.required)}
    values |= {f"excluded_{at}": text for at, text in enumerate(query.excluded)}
    values |= {"first": low // TURNS_A_SESSION * TURNS_A_SESSION, "end": high}
    matching: list[int] = []
    while True:
        rows = connection.execute(statement, values).all()
        for row in rows:
            matching += row.turns
        if len(matching) >= limit or len(rows) < int(values["at_once"]):
            return matching[:limit]
        values |= {"end": rows[-1].id} if newest else {"first": rows[-1].id + 1}
        values["at_once"] = min(2 * int(values["at_once"]), _MOST_AT_ONCE)


def _statement(order: Literal["ASC", "DESC"], required: int, excluded: int) -> sa.TextClause:
    holds = [f"strpos(turn.words, :required_{at}) > 0" for at in range(required)]
    lacks = [f"strpos(turn.words, :excluded_{at}) = 0" for at in range(excluded)]
    return sa.text(
        "SELECT id, ARRAY("  # noqa: S608
        "SELECT turn.id FROM search_raw AS turn"
        " WHERE turn.id >= greatest(block.id, :low) AND turn.id < least(block.last + 1, :high)"
        f" AND {' AND '.join([*holds, *lacks])} ORDER BY turn.id {order}) AS turns FROM ("
        "SELECT id, last FROM search_block"
        " WHERE words @@ CAST(:words AS tsquery) AND id >= :first AND id < :end AND last >= :low"
        f" ORDER BY id {order} LIMIT :at_once) AS block ORDER BY id {order}"
    )


def _needles(terms: Sequence[Term]) -> tuple[str, ...]:
    """The longest first: it stands in the fewest texts, and is the quickest to look for."""
    return tuple(sorted((needle(term.tokens, term.prefix) for term in terms), key=len, reverse=True))


def _lexemes(term: Term) -> Iterator[str]:
    last = len(term.tokens) - 1
    for at, token in enumerate(term.tokens):
        ending = ":*" if term.prefix and at == last else ""
        yield f"'{shortened(token.encode()).decode()}'{ending}"
