"""Copies a session of a made database to another one, with other words around what was parsed.

A turn's row is made as the writer makes it. Parses, findings and counters are the original's rows: a response's JSON
and its place stay as they were, and the prose around it is plain lower-case words of the same length. Compared with
parsing 2,000 copies anew: 1,987 traces are the same, 13 of `json-repair` are but for the prose that an edit quotes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from webapp.dumps.records import SessionStart, Turn
from webapp.store import derive
from webapp.store.db import ids
from webapp.store.db.ids import SLOTS
from webapp.store.models import TURNS_A_SESSION, DumpSession, Session
from webapp.store.search import index
from webapp.store.write import rows

_session = Session.__table__
_insert_sessions = sa.insert(_session)  # type: ignore[arg-type]
_insert_turns = rows.turns.insert()
_FINDING = ("rule", "severity", "turns", "detail")
_PARSE = tuple(column.name for column in rows.parses.c if column.name not in ("id", "turn_id"))
_OF_TURN = {"parse": _PARSE, "turn_contract": ("state", "detail")}
_NOTES = "INSERT INTO search_note(rowid, text) SELECT rowid + ?, text FROM search_note WHERE rowid BETWEEN ? AND ?"


@dataclass(frozen=True, slots=True)
class Original:
    """A session as it was written, with the row that it got; each turn is an entry of its own."""

    row: Mapping[str, Any]
    start: SessionStart
    turns: Sequence[Turn]


Copy = tuple[Original, SessionStart, list[Turn]]
"""what to copy, under which names, and its turns with other words"""


def written(connection: sa.Connection, number: int, start: SessionStart, turns: Sequence[Turn]) -> Original:
    """The session with the id `number`."""
    row = connection.execute(sa.select(_session).where(_session.c.id == number)).mappings().one()
    return Original(dict(row), start, turns)


def copy(connection: sa.Connection, copies: Sequence[Copy], dump_id: int) -> None:
    """Write sessions whose turns are parsed as their originals' are."""
    number, changed = connection.execute(sa.select(sa.func.max(_session.c.id), sa.func.max(_session.c.changed))).one()
    new = range(number + 1, number + 1 + len(copies))
    sessions = [
        _values(at, start, turns, original) | {"dump_id": dump_id, "changed": changed + at - number}
        for at, (original, start, turns) in zip(new, copies, strict=True)
    ]
    connection.execute(_insert_sessions, sessions)
    made = [row for at, (_, _, turns) in zip(new, copies, strict=True) for row in _rows(at, turns)]
    connection.execute(_insert_turns, made)
    links = [{"dump_id": dump_id, "session_id": one["id"], "new_turns": one["turn_count"]} for one in sessions]
    connection.execute(sa.insert(DumpSession.__table__), links)  # type: ignore[arg-type]
    for at, (original, _, turns) in zip(new, copies, strict=True):
        _copy_rows(connection, original.row["id"], at)
        texts = [(at * TURNS_A_SESSION + ordinal, (turn.raw or "").encode()) for ordinal, turn in enumerate(turns)]
        index.index_turns(connection, texts)
    derive.derive(connection, new)


def _values(number: int, start: SessionStart, turns: Sequence[Turn], original: Original) -> dict[str, Any]:
    first, last = turns[0].sent_at, turns[-1].sent_at
    values = {**original.row, "id": number, "external_id": start.external_id, "title": start.title}
    values |= {"key": ids.key(start.external_id, 1), "started_at": first, "happened_at": first, "ended_at": last}
    return values | {"raw_bytes": sum(len(turn.raw or "") for turn in turns)}


def _rows(number: int, turns: Sequence[Turn]) -> Iterator[rows.Row]:
    for ordinal, turn in enumerate(turns):
        row = rows.turn_row(turn)
        row |= {"id": number * TURNS_A_SESSION + ordinal, "session_id": number, "ordinal": ordinal}
        yield row | {"position": ordinal, "duplicate_of": None, "entry_sha256": rows.entry_digest(turn)}


def _copy_rows(connection: sa.Connection, old: int, new: int) -> None:
    some = ", ".join(_FINDING)
    statement = f"INSERT INTO finding (session_id, {some}) SELECT ?, {some} FROM finding WHERE session_id = ?"
    connection.exec_driver_sql(statement, (new, old))
    shift, low = (new - old) * TURNS_A_SESSION, old * TURNS_A_SESSION
    for table, names in _OF_TURN.items():
        some = ", ".join(names)
        statement = (
            f"INSERT INTO {table} (turn_id, {some})"
            f" SELECT turn_id + ?, {some} FROM {table} WHERE turn_id BETWEEN ? AND ?"
        )
        connection.exec_driver_sql(statement, (shift, low, low + TURNS_A_SESSION - 1))
    notes = (low * SLOTS + 2, (low + TURNS_A_SESSION) * SLOTS - 1)  # without the session's own id and title
    connection.exec_driver_sql(_NOTES, (shift * SLOTS, *notes))
