"""Sessions that a person selected: what they are in words, found by key, and where two of them part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.parsing.words import counted
from webapp.store.models import Session, Turn
from webapp.store.sessions import sessions as session_store
from webapp.store.sessions.filters import Filters
from webapp.store.sessions.sessions import NoSuchSession

MOST = 1000
"""sessions that one selection takes"""
_SWITCHES = {"failed": "failed responses", "rescued": "failed responses that Fencepost can read"}
COMPARED = 20_000
"""turns of each session that are compared before the rest counts as unlooked at"""


@dataclass(frozen=True, slots=True)
class Parting:
    """Where two sessions first differ, after `same` turns alike: the position in each, None where it has ended.

    Both are None where nothing differs, or, with `cut`, where nothing did as far as was looked.
    """

    same: int
    first: int | None
    second: int | None
    cut: bool


def words_of(selection: Mapping[str, Any]) -> str:
    """What a task is about, by its `keys` or `filters`: `sessions with failed responses, model m`."""
    unknown = " whose parser was unknown" if selection.get("unknown_only") else ""
    if "keys" in selection:
        return f"{counted(len(selection['keys']), 'selected session')}{unknown}"
    parts = [_SWITCHES.get(name, f"{name} {value}") for name, value in selection.get("filters", {}).items()]
    return f"sessions with {', '.join(parts)}{unknown}" if parts else f"all sessions{unknown}"


def find(db: orm.Session, keys: Iterable[str]) -> list[Session]:
    """The sessions with these keys, in the order given, each once; raises `NoSuchSession` where none is left."""
    in_order = list(dict.fromkeys(keys))[:MOST]
    query = sa.select(Session).where(Session.key.in_(in_order), Session.deleted_at.is_(None))
    by_key = {session.key: session for session in db.scalars(query)}
    if not by_key:
        raise NoSuchSession("no session is selected, or those that were are gone")
    return [by_key[key] for key in in_order if key in by_key]


def filtered(db: orm.Session, filters: Filters) -> list[Session]:
    """The sessions under the list's filters, the first `MOST` in the list's order."""
    ids = session_store.hits(db, filters, None, MOST).ids
    by_id = {session.id: session for session in db.scalars(sa.select(Session).where(Session.id.in_(ids)))}
    return [by_id[number] for number in ids if number in by_id]


def deleted_at(db: orm.Session, keys: list[str]) -> datetime | None:
    """When these sessions were deleted: the name of the batch that an undo brings back."""
    return db.scalar(sa.select(sa.func.max(Session.deleted_at)).where(Session.key.in_(keys)))


def of_batch(db: orm.Session, moment: datetime) -> list[str]:
    """The keys of what was deleted at that very moment."""
    return list(db.scalars(sa.select(Session.key).where(Session.deleted_at == moment)))


def parting(db: orm.Session, first: Session, second: Session) -> Parting:
    """Where two sessions first differ, by kind and raw text of their turns in order."""
    first_turns, right = _turns(db, first), _turns(db, second)
    for at, (here, second_turn) in enumerate(zip_longest(first_turns, right)):
        if here is None or second_turn is None or here[1:] != second_turn[1:]:
            return Parting(at, here[0] if here else None, second_turn[0] if second_turn else None, False)
    return Parting(len(first_turns), None, None, len(first_turns) >= COMPARED)


def _turns(db: orm.Session, session: Session) -> list[tuple[int, str, bytes | None]]:
    query = (
        sa.select(Turn.position, Turn.kind, Turn.raw_sha256)
        .where(Turn.session_id == session.id, Turn.duplicate_of.is_(None))
        .order_by(Turn.position)
        .limit(COMPARED)
    )
    return [(row[0], row[1], row[2]) for row in db.execute(query)]
