"""Keeps the search index: what was written is searchable when its transaction ends, what was removed is not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter

import sqlalchemy as sa

from webapp.store.db import packing
from webapp.store.models import TURNS_A_SESSION, Label, Session, Turn, is_unfinished
from webapp.store.search import blocks
from webapp.store.search.folding import Block, Text, in_blocks
from webapp.store.search.pending import KINDS, SLOTS, Note, key
from webapp.store.search.vectors import vector_text

_AT_ONCE = 16
"""texts, each of any size"""


def index_turns(connection: sa.Connection, texts: Sequence[Text]) -> None:
    """Add turns' raw texts, none of which may be there yet; merged entries are left out by the caller."""
    if not texts:
        return
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("INSERT INTO search_raw(rowid, raw) VALUES (?, ?)", list(texts))
        return
    index_blocks(connection, list(in_blocks(sorted(texts, key=itemgetter(0)))))


def index_blocks(connection: sa.Connection, new: Sequence[Block]) -> None:
    """Add turns' raw texts that are in blocks already, which only PostgreSQL takes."""
    if new:
        blocks.write(connection, new)


def index_notes(connection: sa.Connection, notes: Iterable[Note]) -> None:
    """Add texts, each in place of the one that was there."""
    rows = {note.key: note.text.encode("utf-8", "surrogatepass") for note in notes}
    if not rows:
        return
    if connection.dialect.name == "sqlite":
        insert = "INSERT OR REPLACE INTO search_note(rowid, text) VALUES (?, ?)"
        connection.exec_driver_sql(insert, list(rows.items()))
        return
    upsert = (
        "INSERT INTO search_note(id, text, words) SELECT id, text, CAST(words AS tsvector)"
        " FROM unnest(CAST(:ids AS bigint[]), CAST(:texts AS bytea[]), CAST(:words AS text[])) AS note(id, text, words)"
        " ON CONFLICT (id) DO UPDATE SET text = excluded.text, words = excluded.words"
    )
    texts = list(rows.values())
    arrays = {"ids": list(rows), "texts": texts, "words": list(map(vector_text, texts))}
    connection.execute(sa.text(upsert), arrays)


def noted(connection: sa.Connection, turn_ids: Iterable[int]) -> None:
    """Take in what the labels of these turns say by now, and what they no longer say out."""
    ids = sorted(set(turn_ids))
    for at in range(0, len(ids), 500):
        part = ids[at : at + 500]
        notes_by_turn: dict[int, list[str]] = {turn_id: [] for turn_id in part}
        query = sa.select(Label.turn_id, Label.note).where(Label.turn_id.in_(part), Label.note.is_not(None))
        for row in connection.execute(query.order_by(Label.id)):
            notes_by_turn[row.turn_id].append(row.note)
        for turn_id, notes in notes_by_turn.items():
            if not notes:
                _delete_notes(connection, key(turn_id, "note"), key(turn_id, "note") + 1)
        index_notes(
            connection, (Note("note", turn_id, "\n".join(notes)) for turn_id, notes in notes_by_turn.items() if notes)
        )


def clear(connection: sa.Connection) -> None:
    """Take everything out of the index."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("INSERT INTO search_raw(search_raw) VALUES ('delete-all')")
        connection.exec_driver_sql("DELETE FROM search_note")
    else:
        connection.exec_driver_sql("TRUNCATE search_raw, search_block, search_note")


def indexed(connection: sa.Connection) -> set[int]:
    """The sessions that are in the index."""
    name, size = column(connection), TURNS_A_SESSION * SLOTS
    query = sa.text(f"SELECT {name} / {size} FROM search_note WHERE {name} = {name} / {size} * {size}")  # noqa: S608
    rows = connection.execute(query)
    return {int(row[0]) for row in rows}


def remove(connection: sa.Connection, session_id: int, first: int = 0) -> None:
    """Take a session, or its turns from the ordinal `first` on, out of the index; those turns must still be there."""
    low, high = session_id * TURNS_A_SESSION + first, (session_id + 1) * TURNS_A_SESSION
    if connection.dialect.name == "sqlite":
        if is_indexed(connection, session_id):
            _remove_raw(connection, low, high)
    else:
        blocks.remove(connection, low, high)
    _delete_notes(connection, low * SLOTS, high * SLOTS)


def forget_errors(connection: sa.Connection, session_id: int) -> None:
    """Take out what is said of a session's failed parses."""
    low, high = session_id * TURNS_A_SESSION * SLOTS, (session_id + 1) * TURNS_A_SESSION * SLOTS
    name, slot = column(connection), KINDS.index("error")
    statement = f"DELETE FROM search_note WHERE {name} >= :low AND {name} < :high AND {name} % {SLOTS} = {slot}"  # noqa: S608
    connection.execute(sa.text(statement), {"low": low, "high": high})


def lacking(connection: sa.Connection) -> bool:
    """Whether sessions from before there was an index are not in it yet: the oldest is the last to come in."""
    oldest = connection.scalar(sa.select(sa.func.min(Session.id)).where(~is_unfinished))
    return oldest is not None and not is_indexed(connection, oldest)


def _remove_raw(connection: sa.Connection, low: int, high: int) -> None:
    """Give the index, which holds no texts, each text that it is to forget."""
    text = sa.type_coerce(Turn.raw, sa.LargeBinary()).label("text")
    here = (Turn.id >= low, Turn.id < high, Turn.raw.is_not(None), Turn.duplicate_of.is_(None))
    query = sa.select(Turn.id, text).where(*here).execution_options(yield_per=_AT_ONCE)
    for rows in connection.execute(query).partitions():
        texts = [(row.id, packing.unpack_text(bytes(row.text))) for row in rows]
        connection.exec_driver_sql("INSERT INTO search_raw(search_raw, rowid, raw) VALUES ('delete', ?, ?)", texts)


def is_indexed(connection: sa.Connection, session_id: int) -> bool:
    """Whether the session was indexed when it was written, or by `db reindex` since."""
    where = key(session_id * TURNS_A_SESSION, "id")
    statement = sa.text(f"SELECT 1 FROM search_note WHERE {column(connection)} = :id")  # noqa: S608
    return connection.execute(statement, {"id": where}).first() is not None


def column(connection: sa.Connection) -> str:
    """What the tables of the index call their key."""
    return "rowid" if connection.dialect.name == "sqlite" else "id"


def _delete_notes(connection: sa.Connection, low: int, high: int) -> None:
    name = column(connection)
    statement = sa.text(f"DELETE FROM search_note WHERE {name} >= :low AND {name} < :high")  # noqa: S608
    connection.execute(statement, {"low": low, "high": high})
