"""Rows of turns, traces and what requests declare: values in the bytes that the columns keep, inserted in batches."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import sqlalchemy as sa

from webapp import jsontext
from webapp.dumps.records import Turn, whole_entry
from webapp.jsontext import canonical as canonical
from webapp.parsing import Trace
from webapp.store import models
from webapp.store.db import types
from webapp.store.db.database import writing
from webapp.store.db.dialect import insert_new, take_locks
from webapp.store.db.ids import short
from webapp.store.models import Declaration
from webapp.store.models import Turn as StoredTurn
from webapp.store.models.sessions import SAME_IN_TURNS

_declarations = sa.table("declaration", sa.column("id"), sa.column("content", sa.types.NullType()))
_DECLARATIONS_LOCK = 0x4445434C
"""an arbitrary number of our own for PostgreSQL's advisory lock: shared by who refers to declarations"""


class DeclarationRow(NamedTuple):
    """A declaration on its way into the database: the number that turns refer to, and what is kept under it."""

    id: int
    content: bytes


_last_declared: tuple[Any, DeclarationRow | None] = (None, None)


def declared(content: dict[str, Any] | None) -> DeclarationRow | None:
    """What a turn's row refers to, None where it is nested too deep; the same of one asked about twice in a row."""
    global _last_declared
    if content is None:
        return None
    if _last_declared[0] is not content:
        _last_declared = (content, _declared(content))
    return _last_declared[1]


def _declared(content: dict[str, Any]) -> DeclarationRow | None:
    try:
        text = jsontext.dumps(content).encode("ascii")
    except RecursionError:
        return None
    return DeclarationRow(int.from_bytes(hashlib.sha256(text).digest()[:8]) >> 1, types.pack(text))


def store_declarations(connection: sa.Connection, declarations: Collection[DeclarationRow]) -> None:
    """Store those that are new; none of them goes before the caller commits what refers to them."""
    if declarations:
        take_locks(connection, _DECLARATIONS_LOCK, shared=True)
        values = [declaration._asdict() for declaration in sorted(declarations)]
        connection.execute(insert_new(_declarations, values, ("id",)))


def remove_unused_declarations(engine: sa.Engine) -> int:
    """Remove the declarations that no turn refers to any more; how many went."""
    is_used = sa.exists().where(StoredTurn.declaration_id == Declaration.id)
    with writing(engine) as connection:
        take_locks(connection, _DECLARATIONS_LOCK)
        return connection.execute(sa.delete(Declaration).where(~is_used)).rowcount


Row = dict[str, Any]

_LARGEST = 2**63


def _fitting(number: Any, _dialect: Any) -> Any:
    """A number as a column holds it; where none does, it is in `source` and nowhere else."""
    return None if isinstance(number, int) and not -_LARGEST <= number < _LARGEST else number


_same = attrgetter(*SAME_IN_TURNS)
_columns = StoredTurn.__table__.columns
_encoders: list[tuple[str, Callable[[Any, Any], Any]]] = [
    (name, kind.process_bind_param if isinstance(kind := _columns[name].type, sa.TypeDecorator) else _fitting)
    for name in (*SAME_IN_TURNS, "recorded_failure", "stop_said")
    if isinstance(_columns[name].type, sa.TypeDecorator | sa.Integer | sa.Float)
]


def encoded(text: str) -> bytes:
    """A text as UTF-8, whatever stands in it."""
    return text.encode("utf-8", "surrogatepass")


def turn_row(turn: Turn, *, first: bool = False) -> Row:
    """The columns of `turn` that need nothing of its session, as the database keeps them.

    The `first` turn of an entry has the entry's hash. Raises RecursionError where a value is nested too deeply.
    """
    declaration = declared(turn.declared)
    row: Row = {
        **dict(zip(SAME_IN_TURNS, _same(turn), strict=True)),
        "recorded_failure": turn.failure,
        "raw_sha256": None if turn.raw is None else hashlib.sha256(encoded(turn.raw)).digest(),
        "entry_sha256": entry_digest(turn) if first else None,
        "declaration_id": declaration and declaration.id,
        "stop": turn.stop and turn.stop.reason,
        "stop_said": turn.stop and turn.stop.said,
    }
    for name, encode in _encoders:
        if row[name] is not None:
            row[name] = encode(row[name], None)
    return row


def entry_digest(turn: Turn) -> bytes:
    """The hash of an entry as it came, from its first turn: the same whichever format read it."""
    if turn.source is None and turn.raw_at is None:
        whole = bare_entry(turn.kind, turn.role, turn.raw)
    else:
        whole = whole_entry(turn.source, turn.raw, turn.raw_at)
    return hashlib.sha256(jsontext.dumps(whole).encode("ascii")).digest()


def bare_entry(kind: str, role: str | None, raw: str | None) -> dict[str, str | None]:
    """The entry that a turn stands for where its format has no entries, or where it could not be kept."""
    return {"kind": kind, "role": role, "content": raw}


def parse_row(turn_id: int, trace: Trace) -> Row:
    """A trace as a row of `parse`."""
    chosen = trace.attempts[trace.chosen[0]] if trace.chosen else None
    repairs = {edit.repair for index in trace.chosen for edit in trace.attempts[index].edits}
    return {
        "turn_id": turn_id,
        "profile": trace.profile,
        "version": trace.version,
        "verdict": trace.verdict,
        "strategy": short(chosen.strategy, 64) if chosen else None,
        "repairs": f",{','.join(sorted(repairs))}," if repairs else None,
        "truncated": trace.truncated,
        "ambiguous": trace.ambiguous,
        "microseconds": trace.microseconds,
        "trace": _trace(trace),
        "value_digest": value_digest(trace.values) if trace.chosen else None,
    }


def _trace(trace: Trace) -> bytes:
    try:
        text = jsontext.dumps(trace.as_dict())
    except RecursionError:  # decoded just below the decoder's limit, and so past the encoder's
        bare = {**trace.as_dict(), "values": [None] * len(trace.values), "exhausted": True}
        text = jsontext.dumps(bare)
    return types.pack(text.encode("ascii"))


def value_digest(values: Sequence[Any]) -> int | None:
    """64 bits, signed, of the SHA-256 of `canonical`; None where that is."""
    text = canonical(values)
    if text is None:
        return None
    return int.from_bytes(hashlib.sha256(text.encode("ascii")).digest()[:8], "big", signed=True)


def forget_parses(connection: sa.Connection, session_ids: Collection[int], profile: str, but: str = "") -> None:
    """Remove what a profile made of these sessions, `but` for that of one version; they are to be derived then."""
    of_these = sa.select(StoredTurn.id).where(StoredTurn.session_id.in_(session_ids))
    mine = (models.Parse.turn_id.in_(of_these), models.Parse.profile == profile, models.Parse.version != but)
    connection.execute(sa.delete(models.Parse).where(*mine))


turns, parses = types.plain(StoredTurn), types.plain(models.Parse)
"""whose rows are encoded here, once: bytes go in as they are"""
