"""Keeps the search index: what was written is searchable when its transaction ends, what was removed is not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import sqlalchemy as sa

from webapp.store.db import packing
from webapp.store.models import TURNS_A_SESSION, Label, Session, Turn, is_unfinished
from webapp.store.search.pending import KINDS, SLOTS, Note, Text, key
from webapp.store.search.words import folded

_AT_ONCE = 16
"""texts, each of any size"""


def index_turns(connection: sa.Connection, texts: Sequence[Text]) -> None:
    """Add turns' raw texts, none of which may be there yet; merged entries are left out by the caller."""
    if not texts:
        return
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("INSERT INTO search_raw(rowid, raw) VALUES (?, ?)", list(texts))
        return
    rows = [{"id": number, "words": folded(raw.decode("utf-8", "surrogatepass"))} for number, raw in texts]
    connection.execute(_insert_words, rows)


_insert_words = sa.text("INSERT INTO search_raw(rowid, words) VALUES (:id, to_tsvector('simple', :words))")
_upsert_note = sa.text(
    "INSERT INTO search_note(rowid, text, words) VALUES (:id, :text, to_tsvector('simple', :words))"
    " ON CONFLICT (rowid) DO UPDATE SET text = excluded.text, words = excluded.words"
)


def index_notes(connection: sa.Connection, notes: Iterable[Note]) -> None:
    """Add texts, each in place of the one that was there."""
    rows = {note.key: note.text for note in notes}
    if not rows:
        return
    if connection.dialect.name == "sqlite":
        insert = "INSERT OR REPLACE INTO search_note(rowid, text) VALUES (?, ?)"
        connection.exec_driver_sql(insert, [(number, _bytes(text)) for number, text in rows.items()])
        return
    values = [{"id": number, "text": _bytes(text), "words": folded(text)} for number, text in rows.items()]
    connection.execute(_upsert_note, values)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


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
    else:
        connection.exec_driver_sql("TRUNCATE search_raw")
    connection.exec_driver_sql("DELETE FROM search_note")


def indexed(connection: sa.Connection) -> set[int]:
    """The sessions that are in the index."""
    size = TURNS_A_SESSION * SLOTS
    query = f"SELECT rowid / {size} FROM search_note WHERE rowid = rowid / {size} * {size}"  # noqa: S608
    return {int(row[0]) for row in connection.exec_driver_sql(query)}


def remove(connection: sa.Connection, session_id: int, first: int = 0) -> None:
    """Take a session, or its turns from the ordinal `first` on, out of the index; those turns must still be there."""
    low, high = session_id * TURNS_A_SESSION + first, (session_id + 1) * TURNS_A_SESSION
    if connection.dialect.name == "sqlite":
        if is_indexed(connection, session_id):
            _remove_raw(connection, low, high)
    else:
        connection.execute(sa.text("DELETE FROM search_raw WHERE rowid >= :low AND rowid < :high"), _between(low, high))
    _delete_notes(connection, low * SLOTS, high * SLOTS)


def forget_errors(connection: sa.Connection, session_id: int) -> None:
    """Take out what is said of a session's failed parses."""
    low, high = session_id * TURNS_A_SESSION * SLOTS, (session_id + 1) * TURNS_A_SESSION * SLOTS
    _delete_notes(connection, low, high, f"AND rowid % {SLOTS} = {KINDS.index('error')}")


def lacking(connection: sa.Connection) -> bool:
    """Whether sessions from before there was an index are not in it yet: the oldest is the last to come in."""
    oldest = connection.scalar(sa.select(sa.func.min(Session.id)).where(~is_unfinished))
    return oldest is not None and not is_indexed(connection, oldest)


def is_indexed(connection: sa.Connection, session_id: int) -> bool:
    """Whether the session was indexed when it was written, or by `db reindex` since."""
    where = key(session_id * TURNS_A_SESSION, "id")
    return connection.execute(sa.text("SELECT 1 FROM search_note WHERE rowid = :id"), {"id": where}).first() is not None


def _remove_raw(connection: sa.Connection, low: int, high: int) -> None:
    """Give the index, which holds no texts, each text that it is to forget."""
    text = sa.type_coerce(Turn.raw, sa.LargeBinary()).label("text")
    here = (Turn.id >= low, Turn.id < high, Turn.raw.is_not(None), Turn.duplicate_of.is_(None))
    query = sa.select(Turn.id, text).where(*here).execution_options(yield_per=_AT_ONCE)
    for rows in connection.execute(query).partitions():
        texts = [(row.id, packing.unpack_text(bytes(row.text))) for row in rows]
        connection.exec_driver_sql("INSERT INTO search_raw(search_raw, rowid, raw) VALUES ('delete', ?, ?)", texts)


def _delete_notes(connection: sa.Connection, low: int, high: int, more: str = "") -> None:
    statement = f"DELETE FROM search_note WHERE rowid >= :low AND rowid < :high {more}"  # noqa: S608
    connection.execute(sa.text(statement), _between(low, high))


def _between(low: int, high: int) -> dict[str, int]:
    return {"low": low, "high": high}
