"""Turns and traces as rows for batched inserts: values already in the bytes that the columns keep."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from operator import itemgetter
from typing import Any

import sqlalchemy as sa

from webapp import jsontext
from webapp.dumps.records import Turn
from webapp.exports.session_dump import whole_entry
from webapp.parsing import Trace
from webapp.store import models, packing
from webapp.store.dialect import insert_values
from webapp.store.types import ExactJson, ExactText, PackedJson, PackedText, ShortText, UtcDateTime, short

Row = dict[str, Any]

_PLAIN: dict[type[sa.types.TypeEngine[Any]], sa.types.TypeEngine[Any]] = {
    ExactText: sa.types.NullType(),
    ExactJson: sa.types.NullType(),
    PackedJson: sa.types.NullType(),
    PackedText: sa.types.NullType(),
    sa.LargeBinary: sa.types.NullType(),
    ShortText: sa.String(),
    UtcDateTime: sa.DateTime(timezone=True),
}
_LARGEST = 2**63


def plain(model: type[models.Base]) -> sa.TableClause:
    """`model`'s table with bare column types: rows for it are encoded here, once, and bytes go in as they are."""
    columns = [(column.name, _PLAIN.get(type(column.type), column.type)) for column in model.__table__.columns]
    return sa.table(model.__tablename__, *(sa.column(name, type_) for name, type_ in columns))


turns = plain(models.Turn)
parses = plain(models.Parse)
repairs = plain(models.ParseRepair)


def encoded(text: str | None) -> bytes | None:
    """What `ExactText` keeps."""
    return None if text is None else text.encode("utf-8", "surrogatepass")


def encoded_json(value: Any) -> bytes | None:
    """What `ExactJson` keeps; raises RecursionError where `value` is nested too deeply."""
    return None if value is None else jsontext.dumps(value).encode("ascii")


def packed_json(value: Any) -> bytes | None:
    """What `PackedJson` keeps; raises as `encoded_json` does."""
    return None if value is None else packing.pack(jsontext.dumps(value).encode("ascii"))


def insert(connection: sa.Connection, table: sa.TableClause, batch: list[Row]) -> None:
    """Insert rows, which all have the same columns; on SQLite by its driver, which takes half the time."""
    if not batch:
        return
    if connection.dialect.name != "sqlite":
        connection.execute(table.insert(), batch)
        return
    names = tuple(batch[0])
    values: Iterable[tuple[Any, ...]] = map(itemgetter(*names), batch)
    if "sent_at" in names:
        at = names.index("sent_at")
        values = ((*row[:at], _stamp(row[at]), *row[at + 1 :]) for row in values)
    insert_values(connection, table.name, names, list(values))


def _stamp(when: datetime | None) -> str | None:
    """A time in UTC as SQLAlchemy writes it for SQLite."""
    return None if when is None else when.replace(tzinfo=None).isoformat(" ", "microseconds")


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
        "raw": None if raw is None else packing.pack_text(raw),
        "raw_sha256": None if raw is None else hashlib.sha256(raw).digest(),
        "tool_calls": encoded_json(turn.tool_calls),
        "sent_at": utc(turn.sent_at),
        "tokens_in": _whole(turn.tokens_in),
        "tokens_out": _whole(turn.tokens_out),
        "cost": turn.cost,
        "source": source,
        "raw_at": None if turn.raw_at is None else _path(turn.raw_at),
        "entry_sha256": digest,
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
    whole = _whole_text(turn)
    digest = hashlib.sha256(whole).digest()
    if turn.raw is not None and turn.raw_at and " " in turn.raw and _is_none(turn.source, turn.raw_at):
        text = jsontext.quoted(turn.raw).encode("ascii")  # a space stands nowhere but in strings, so this is one
        if whole.count(text) == 1:
            return packing.pack(whole.replace(text, b"null")), digest
    return packed_json(turn.source), digest


def _is_none(source: Any, path: tuple[str | int, ...]) -> bool:
    for step in path:
        source = source[step]
    return source is None


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
        "truncated": trace.truncated,
        "ambiguous": trace.ambiguous,
        "exhausted": trace.exhausted,
        "microseconds": trace.microseconds,
        "trace": _trace(trace),
    }


def repair_rows(turn_id: int, trace: Trace) -> Iterator[Row]:
    """How often the chosen attempts of `trace` needed each repair."""
    counts: dict[str, int] = {}
    for index in trace.chosen:
        for edit in trace.attempts[index].edits:
            counts[edit.repair] = counts.get(edit.repair, 0) + 1
    for repair, count in counts.items():
        yield {"turn_id": turn_id, "profile": trace.profile, "repair": repair, "count": count}


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
    return packing.pack(text.encode("ascii"))


@lru_cache(maxsize=1024)
def _path(raw_at: tuple[str | int, ...]) -> bytes:
    return jsontext.dumps(raw_at).encode("ascii")


def _name(text: str | None) -> str | None:
    return None if text is None else short(text, 255)


def _whole(number: int | None) -> int | None:
    """A whole number that fits the column; what does not is in `source` and nowhere else."""
    return number if number is None or -_LARGEST <= number < _LARGEST else None
