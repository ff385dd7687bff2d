"""Rows of turns, traces and what requests declare: values in the bytes that the columns keep, inserted in batches."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

import sqlalchemy as sa

from webapp import jsontext
from webapp.dumps.records import Turn
from webapp.exports.session_dump import whole_entry
from webapp.jsontext import canonical as canonical
from webapp.parsing import Trace
from webapp.store import models
from webapp.store.db import types
from webapp.store.db.database import writing
from webapp.store.db.dialect import insert_new, take_locks
from webapp.store.db.ids import short
from webapp.store.db.types import ExactJson, ExactText, PackedJson, PackedText, ShortText, UtcDateTime
from webapp.store.models import Declaration
from webapp.store.models import Turn as StoredTurn

_declarations = sa.table("declaration", sa.column("id"), sa.column("content", sa.types.NullType()))
_DECLARATIONS_LOCK = 0x4445434C
"""an arbitrary number of our own for PostgreSQL's advisory lock: shared by who refers to declarations"""


class Declared(NamedTuple):
    """A declaration on its way into the database, in the place of its number."""

    id: int
    content: bytes


_last_declared: tuple[Any, Declared | None] = (None, None)


def declared(content: dict[str, Any] | None) -> Declared | None:
    """What stands in a turn's row; of the object that was asked about last, the same."""
    global _last_declared
    if content is None:
        return None
    if _last_declared[0] is not content:
        _last_declared = (content, _declared(content))
    return _last_declared[1]


def _declared(content: dict[str, Any]) -> Declared | None:
    try:
        text = jsontext.dumps(content).encode("ascii")
    except RecursionError:
        return None
    return Declared(int.from_bytes(hashlib.sha256(text).digest()[:8]) >> 1, types.pack(text))


def stored_declaration(connection: sa.Connection, content: dict[str, Any]) -> int | None:
    """The number of a declaration, which is stored where it is new; None of one that is nested too deep."""
    declaration = _declared(content)
    _store_declarations(connection, {} if declaration is None else {declaration.id: declaration.content})
    return None if declaration is None else declaration.id


def put_declarations(connection: sa.Connection, batch: Sequence[dict[str, Any]]) -> None:
    """Give turns' rows the numbers of their declarations, which are stored where they are new."""
    declaring = [row for row in batch if isinstance(row["declaration_id"], Declared)]
    _store_declarations(connection, {row["declaration_id"].id: row["declaration_id"].content for row in declaring})
    for row in declaring:
        row["declaration_id"] = row["declaration_id"].id


def _store_declarations(connection: sa.Connection, contents: dict[int, bytes]) -> None:
    """Store those that are new; none of them goes before the caller commits what refers to them."""
    if not contents:
        return
    take_locks(connection, _DECLARATIONS_LOCK, shared=True)
    values = [{"id": number, "content": contents[number]} for number in sorted(contents)]
    connection.execute(insert_new(_declarations, values, ("id",)))


def remove_unused_declarations(engine: sa.Engine) -> int:
    """Remove the declarations that no turn refers to any more; how many went."""
    is_used = sa.exists().where(StoredTurn.declaration_id == Declaration.id)
    with writing(engine) as connection:
        take_locks(connection, _DECLARATIONS_LOCK)
        return connection.execute(sa.delete(Declaration).where(~is_used)).rowcount


Row = dict[str, Any]

_LARGEST = 2**63
_MARK = f"a text stands here {secrets.token_hex(8)}"
_MARKED = jsontext.quoted(_MARK).encode("ascii")


def encoded(text: str | None) -> bytes | None:
    """What `ExactText` keeps."""
    return None if text is None else text.encode("utf-8", "surrogatepass")


def encoded_json(value: Any) -> bytes | None:
    """What `ExactJson` keeps; raises RecursionError where `value` is nested too deeply."""
    return None if value is None else jsontext.dumps(value).encode("ascii")


def packed_json(value: Any) -> bytes | None:
    """What `PackedJson` keeps; raises as `encoded_json` does."""
    return None if value is None else types.pack(jsontext.dumps(value).encode("ascii"))


def turn_row(turn: Turn, raw: bytes | None, *, first: bool = False) -> Row:
    """The columns of `turn` that need nothing of its session; `raw` is `encoded(turn.raw)`.

    The `first` turn of an entry has the entry's hash.
    """
    source, digest = _entry(turn) if first else (packed_json(turn.source), None)
    return {
        "entry": turn.entry,
        "kind": turn.kind,
        "role": _name(turn.role),
        "agent": _name(turn.agent),
        "model": _name(turn.model),
        "phase": _name(turn.phase),
        "sounding": _whole(turn.sounding),
        "round": _whole(turn.round),
        "attempt": _whole(turn.attempt),
        "parent": encoded(turn.parent),
        "recorded_failure": encoded(turn.failure),
        "raw": None if raw is None else types.pack_text(raw),
        "raw_sha256": None if raw is None else hashlib.sha256(raw).digest(),
        "tool_calls": encoded_json(turn.tool_calls),
        "sent_at": utc(turn.sent_at),
        "tokens_in": _whole(turn.tokens_in),
        "tokens_out": _whole(turn.tokens_out),
        "tokens_reasoning": _whole(turn.tokens_reasoning),
        "cost": turn.cost,
        "source": source,
        "raw_at": None if turn.raw_at is None else _path(turn.raw_at),
        "entry_sha256": digest,
        "declaration_id": declared(turn.declared),
        "stop": None if turn.stop is None else turn.stop.reason,
        "stop_said": None if turn.stop is None else _name(turn.stop.said),
        "arguments": turn.arguments,
        "host": _name(turn.host),
        "is_error": turn.is_error,
        "most_rounds": _whole(turn.most_rounds),
    }


def entry_digest(turn: Turn) -> bytes:
    """The hash of an entry as it came, from its first turn: the same whichever format read it."""
    return hashlib.sha256(_whole_text(turn)).digest()


def _whole_text(turn: Turn) -> bytes:
    if turn.source is None and turn.raw_at is None:
        whole = bare_entry(turn.kind, turn.role, turn.raw)
    else:
        whole = whole_entry(turn.source, turn.raw, turn.raw_at)
    return jsontext.dumps(whole).encode("ascii")


def _entry(turn: Turn) -> tuple[bytes | None, bytes]:
    """What is kept of an entry without its text, and the hash of it with its text."""
    if turn.raw is not None and turn.raw_at and isinstance(turn.source, dict) and len(turn.raw_at) == 1:
        before, after = _around(turn.source, turn.raw_at[0])
        if before is not None:
            quoted = jsontext.quoted(turn.raw).encode("ascii")
            return types.pack(b"%bnull%b" % (before, after)), hashlib.sha256(before + quoted + after).digest()
    return packed_json(turn.source), entry_digest(turn)


def _around(source: dict[str | int, Any], key: str | int) -> tuple[bytes | None, bytes]:
    """What `source` is as JSON before and after the value of `key`; None where the value is not the place of a text."""
    if key not in source or source[key] is not None:
        return None, b""
    source[key] = _MARK
    try:
        before, mark, after = jsontext.dumps(source).encode("ascii").partition(_MARKED)
    finally:
        source[key] = None
    return (before, after) if mark and _MARKED not in after else (None, b"")


def bare_entry(kind: str, role: str | None, raw: str | None) -> dict[str, str | None]:
    """The entry that a turn stands for where its format has no entries, or where it could not be kept."""
    return {"kind": kind, "role": role, "content": raw}


def parse_row(turn_id: int, trace: Trace) -> Row:
    """A trace as a row of `parse`."""
    chosen = trace.attempts[trace.chosen[0]] if trace.chosen else None
    return {
        "turn_id": turn_id,
        "profile": trace.profile,
        "version": trace.version,
        "verdict": trace.verdict,
        "strategy": short(chosen.strategy, 64) if chosen else None,
        "repairs": _repairs(trace),
        "truncated": trace.truncated,
        "ambiguous": trace.ambiguous,
        "exhausted": trace.exhausted,
        "microseconds": trace.microseconds,
        "trace": _trace(trace),
        "value_digest": value_digest(trace.values) if trace.chosen else None,
    }


def _repairs(trace: Trace) -> str | None:
    """The repairs that the chosen attempts of `trace` needed, each between commas; None where they needed none."""
    names = {edit.repair for index in trace.chosen for edit in trace.attempts[index].edits}
    return f",{','.join(sorted(names))}," if names else None


def utc(when: datetime | None) -> datetime | None:
    """`when` in UTC; a naive time is taken as UTC."""
    if when is None or when.tzinfo is UTC:
        return when
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)


def _trace(trace: Trace) -> bytes:
    try:
        text = jsontext.dumps(trace.as_dict())
    except RecursionError:  # decoded just below the decoder's limit, and so past the encoder's
        bare = {**trace.as_dict(), "values": [None] * len(trace.values), "exhausted": True}
        text = jsontext.dumps(bare)
    return types.pack(text.encode("ascii"))


@lru_cache(maxsize=1024)
def _path(raw_at: tuple[str | int, ...]) -> bytes:
    return jsontext.dumps(raw_at).encode("ascii")


def _name(text: str | None) -> str | None:
    return None if text is None else short(text, 255)


def _whole(number: int | None) -> int | None:
    """A whole number that fits the column; what does not is in `source` and nowhere else."""
    return number if number is None or -_LARGEST <= number < _LARGEST else None


def value_digest(values: Sequence[Any]) -> int | None:
    """64 bits, signed, of the SHA-256 of `canonical`; None where that is."""
    text = canonical(values)
    if text is None:
        return None
    return int.from_bytes(hashlib.sha256(text.encode("ascii")).digest()[:8], "big", signed=True)


_PLAIN: dict[type[sa.types.TypeEngine[Any]], sa.types.TypeEngine[Any]] = {
    ExactText: sa.types.NullType(),
    ExactJson: sa.types.NullType(),
    PackedJson: sa.types.NullType(),
    PackedText: sa.types.NullType(),
    sa.LargeBinary: sa.types.NullType(),
    ShortText: sa.String(),
    UtcDateTime: sa.DateTime(timezone=True),
}


def plain(model: type[models.Base]) -> sa.TableClause:
    """`model`'s table with bare column types: rows for it are encoded here, once, and bytes go in as they are."""
    columns = [(column.name, _PLAIN.get(type(column.type), column.type)) for column in model.__table__.columns]
    return sa.table(model.__tablename__, *(sa.column(name, type_) for name, type_ in columns))


turns = plain(models.Turn)
parses = plain(models.Parse)


def insert(connection: sa.Connection, table: sa.TableClause, batch: Sequence[Row]) -> None:
    """Insert rows, which all have the same columns."""
    if batch:
        if "declaration_id" in batch[0]:
            put_declarations(connection, batch)
        connection.execute(sa.insert(table), batch)
