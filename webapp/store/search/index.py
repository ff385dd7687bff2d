"""Keeps the search index: what was written is searchable when its transaction ends, what was removed is not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from webapp.store.db import types
from webapp.store.db.ids import batched
from webapp.store.db.search_texts import KINDS, SLOTS, Note, Text, key, session_notes
from webapp.store.models import TURNS_A_SESSION, Label, Session, Turn, turns_of
from webapp.store.search.words import folded

_AT_ONCE = 16
"""texts, each of any size"""
_SIZE = TURNS_A_SESSION * SLOTS
_find_ids = sa.text("SELECT rowid FROM search_note WHERE rowid IN :keys").bindparams(
    sa.bindparam("keys", expanding=True)
)


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
    for part in batched(sorted(set(turn_ids)), 500):
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


def all_indexed(connection: sa.Connection) -> set[int]:
    """The sessions that are in the index."""
    query = f"SELECT rowid / {_SIZE} FROM search_note WHERE rowid = rowid / {_SIZE} * {_SIZE}"  # noqa: S608
    return {int(row[0]) for row in connection.exec_driver_sql(query)}


def indexed(connection: sa.Connection, session_ids: Iterable[int]) -> set[int]:
    """Those of these sessions that are in the index: their id was written there."""
    keys = [number * _SIZE for number in session_ids]
    return {row[0] // _SIZE for row in connection.execute(_find_ids, {"keys": keys})}


def remove(connection: sa.Connection, session_id: int, first: int = 0) -> None:
    """Take a session, or its turns from the ordinal `first` on, out of the index; those turns must still be there."""
    low, high = session_id * TURNS_A_SESSION + first, (session_id + 1) * TURNS_A_SESSION
    if connection.dialect.name == "sqlite":
        if is_indexed(connection, session_id):
            _remove_raw(connection, low, high)
    else:
        connection.execute(sa.text("DELETE FROM search_raw WHERE rowid >= :low AND rowid < :high"), _between(low, high))
    _delete_notes(connection, low * SLOTS, high * SLOTS)


def forget_errors(connection: sa.Connection, first: int, last: int) -> None:
    """Take out what is said of failed parses of the sessions from the number `first` to `last`."""
    _delete_notes(connection, first * _SIZE, (last + 1) * _SIZE, f"AND rowid % {SLOTS} = {KINDS.index('error')}")


def index_session(connection: sa.Connection, session: Any) -> None:
    """Add a session that is not in the index: its id, its title, its turns' texts and what labels say of them."""
    index_notes(connection, session_notes(session.id, session.external_id, session.title))
    low, high = session.id * TURNS_A_SESSION, (session.id + 1) * TURNS_A_SESSION
    for texts in _texts(connection, low, high):
        index_turns(connection, texts)
    noted(connection, connection.scalars(sa.select(Label.turn_id).where(turns_of(Label.turn_id, session.id))))


def lacking(connection: sa.Connection) -> bool:
    """Whether sessions from before there was an index are not in it yet: the oldest is the last to come in."""
    oldest = connection.scalar(sa.select(sa.func.min(Session.id)))
    return oldest is not None and not is_indexed(connection, oldest)


def is_indexed(connection: sa.Connection, session_id: int) -> bool:
    """Whether the session was indexed when it was written, or by `db reindex` since."""
    where = key(session_id * TURNS_A_SESSION, "id")
    return connection.execute(sa.text("SELECT 1 FROM search_note WHERE rowid = :id"), {"id": where}).first() is not None


def _remove_raw(connection: sa.Connection, low: int, high: int) -> None:
    """Give the index, which holds no texts, each text that it is to forget."""
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
