"""Keeps the search index: what was written is searchable when its transaction ends, what was removed is not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import sqlalchemy as sa

from webapp.store.db import types
from webapp.store.db.ids import KINDS, SLOTS, Note, Text, batched, note_key
from webapp.store.models.people import Label
from webapp.store.models.sessions import TURNS_A_SESSION, Session, Turn
from webapp.store.search.query import folded

_AT_ONCE = 16
"""texts, each of any size"""
_SIZE = TURNS_A_SESSION * SLOTS


def index_turns(connection: sa.Connection, texts: Sequence[Text]) -> None:
    """Add turns' raw texts, none of which may be there yet; merged entries are left out by the caller."""
    if not texts:
        return
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("INSERT INTO search_raw(rowid, raw) VALUES (?, ?)", list(texts))
        return
    rows = [{"id": number, "words": folded(raw.decode("utf-8", "surrogatepass"))} for number, raw in texts]
    connection.execute(_insert_words, rows)


_insert_words = sa.text(
    "INSERT INTO search_raw(rowid, words) VALUES (:id, to_tsvector('simple', :words)) ON CONFLICT DO NOTHING"
)
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
    for part in batched(sorted(set(turn_ids))):
        notes_by_turn: dict[int, list[str]] = {turn_id: [] for turn_id in part}
        query = sa.select(Label.turn_id, Label.note).where(Label.turn_id.in_(part), Label.note.is_not(None))
        for row in connection.execute(query.order_by(Label.id)):
            notes_by_turn[row.turn_id].append(row.note)
        for turn_id, notes in notes_by_turn.items():
            if not notes:
                _delete_notes(connection, note_key(turn_id, "note"), note_key(turn_id, "note") + 1)
        index_notes(
            connection, (Note("note", turn_id, "\n".join(notes)) for turn_id, notes in notes_by_turn.items() if notes)
        )


def rebuild(connection: sa.Connection) -> None:
    """Make the index anew, but for what is noted of sessions, which `store.derive` makes; the caller commits."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("INSERT INTO search_raw(search_raw) VALUES ('delete-all')")
    else:
        connection.exec_driver_sql("DELETE FROM search_raw")
    connection.exec_driver_sql("DELETE FROM search_note")
    for session_id in connection.scalars(sa.select(Session.id).execution_options(yield_per=1000)):
        for texts in _texts(connection, session_id * TURNS_A_SESSION, (session_id + 1) * TURNS_A_SESSION):
            index_turns(connection, texts)
    noted(connection, connection.scalars(sa.select(Label.turn_id)))


def remove(connection: sa.Connection, session_id: int, first: int = 0) -> None:
    """Take a session, or its turns from the ordinal `first` on, out of the index; those turns must still be there."""
    low, high = session_id * TURNS_A_SESSION + first, (session_id + 1) * TURNS_A_SESSION
    if connection.dialect.name == "sqlite":
        _remove_raw(connection, low, high)
    else:
        connection.execute(sa.text("DELETE FROM search_raw WHERE rowid >= :low AND rowid < :high"), _between(low, high))
    _delete_notes(connection, low * SLOTS, high * SLOTS)


def forget_errors(connection: sa.Connection, first: int, last: int) -> None:
    """Take out what is said of failed parses of the sessions from the number `first` to `last`."""
    _delete_notes(connection, first * _SIZE, (last + 1) * _SIZE, f"AND rowid % {SLOTS} = {KINDS.index('error')}")


def _remove_raw(connection: sa.Connection, low: int, high: int) -> None:
    """Give the index, which holds no texts, each text that it is to forget; one that is not in it would damage it."""
    for texts in _texts(connection, low, high):
        connection.exec_driver_sql("INSERT INTO search_raw(search_raw, rowid, raw) VALUES ('delete', ?, ?)", texts)


def _texts(connection: sa.Connection, low: int, high: int) -> Iterator[list[Text]]:
    """The texts of the turns from the number `low` up to `high`, a few at a time."""
    text = sa.type_coerce(Turn.raw, sa.LargeBinary()).label("text")
    here = (Turn.id >= low, Turn.id < high, Turn.raw.is_not(None), Turn.duplicate_of.is_(None))
    query = sa.select(Turn.id, text).where(*here).execution_options(yield_per=_AT_ONCE)
    for rows in connection.execute(query).partitions():
        yield [(row.id, types.unpack_text(bytes(row.text))) for row in rows]


def _delete_notes(connection: sa.Connection, low: int, high: int, more: str = "") -> None:
    statement = f"DELETE FROM search_note WHERE rowid >= :low AND rowid < :high {more}"  # noqa: S608
    connection.execute(sa.text(statement), _between(low, high))


def _between(low: int, high: int) -> dict[str, int]:
    return {"low": low, "high": high}
