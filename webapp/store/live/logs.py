"""Log records that carry what a span asked and answered: put to their span, whichever of the two comes first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from webapp.dumps.records import Problem
from webapp.dumps.spans import logs as records
from webapp.store.db.ids import batched
from webapp.store.live import lookup
from webapp.store.live.lookup import Arrived
from webapp.store.models import LiveLog

WAIT = timedelta(seconds=60)
"""how long a record waits for its span, which comes when the call has ended; then it is shown without"""
_STEP = timedelta(microseconds=1)
"""between records of one request, so that they stay in their order"""
_Key = tuple[bytes, bytes]
_find_logs = (
    sa.select(LiveLog).where(LiveLog.trace.in_(sa.bindparam("traces", expanding=True))).order_by(LiveLog.received_at)
)
_find_overdue = sa.select(LiveLog).where(LiveLog.received_at < sa.bindparam("before")).order_by(LiveLog.received_at)
_logs = LiveLog.__table__
_delete = sa.delete(_logs).where(  # type: ignore[arg-type]
    _logs.c.trace == sa.bindparam("of_trace"),
    _logs.c.span == sa.bindparam("of_span"),
    _logs.c.digest == sa.bindparam("of_digest"),
)


@dataclass(slots=True)
class ArrivedLog:
    """One log record with its place in the request; `entry` is `{"resource", "log"}`.

    `repeated` says that it came before.
    """

    at: str
    entry: dict[str, Any]
    trace: bytes
    span: bytes
    digest: bytes
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class OtherLog:
    """A log record that says nothing of a model's messages."""

    at: str


def arrived_logs(groups: Iterable[tuple[str, dict[str, Any] | Problem]]) -> Iterator[ArrivedLog | OtherLog | Problem]:
    """The records of a request's ResourceLogs; what carries messages and cannot be taken is a problem."""
    for at, group in groups:
        if isinstance(group, Problem):
            yield group
            continue
        for logged in records.logs_of(at, group):
            yield logged if isinstance(logged, Problem) else _sound(*logged)


def _sound(at: str, entry: dict[str, Any]) -> ArrivedLog | OtherLog | Problem:
    record = entry["log"]
    if not records.is_of_a_model(record):
        return OtherLog(at)
    trace = lookup.id_bytes(records.trace_of(record), lookup.TRACE)
    if trace is None:
        return Problem(at, "it carries messages of a model, and no trace id that says which call they belong to")
    span = lookup.id_bytes(records.span_of(record), lookup.SPAN) or b""
    return ArrivedLog(at, entry, trace, span, records.digest(record))


def kept(connection: sa.Connection, logs: Sequence[ArrivedLog]) -> list[Arrived]:
    """Keep records until their span comes. Those whose span is stored already are given as entries behind it."""
    places = _stored_spans(connection, logs)
    waiting = {(log.trace, log.span, log.digest) for log in _waiting(connection, {log.trace for log in logs})}
    late, new = [], []
    for log in logs:
        key = (log.trace, log.span, log.digest)
        if key in waiting or (log.trace, _own_id(log.digest)) in places:
            log.repeated = True
        elif (place := places.get((log.trace, log.span))) is not None:
            log.repeated = log.digest in _digests(connection, *place)
            late += [] if log.repeated else [_alone(log.trace, log.digest, log.entry, log.at)]
        else:
            new.append(dict(zip(("trace", "span", "digest"), key, strict=True)) | {"entry": log.entry})
        waiting.add(key)
    now = datetime.now(UTC)
    if new:
        connection.execute(sa.insert(LiveLog), [{**row, "received_at": now + _STEP * at} for at, row in enumerate(new)])
    return late


def _stored_spans(connection: sa.Connection, logs: Sequence[ArrivedLog]) -> dict[_Key, tuple[int, int]]:
    """The session and the first ordinal of each span, and of each record that is stored as an entry of its own."""
    places: dict[_Key, tuple[int, int]] = {}
    for part in batched(logs):
        ids = {log.span for log in part} | {_own_id(log.digest) for log in part}
        keys = {"traces": list({log.trace for log in part}), "spans": list(ids)}
        for row in connection.execute(lookup.find_spans, keys):
            places[bytes(row.trace), bytes(row.span)] = (row.session_id, row.ordinal)
    return places


def _waiting(connection: sa.Connection, traces: set[bytes]) -> Iterator[sa.Row[Any]]:
    for batch in batched(sorted(traces)):
        yield from connection.execute(_find_logs, {"traces": batch})


def _digests(connection: sa.Connection, session_id: int, ordinal: int) -> set[bytes]:
    """The digests of the records that a stored span's entry holds."""
    logs = lookup.entries(connection, session_id, [ordinal]).get(ordinal, {}).get("logs")
    return {records.digest(record) for record in logs or () if isinstance(record, dict)}


def _own_id(digest: bytes) -> bytes:
    """What a record that is an entry of its own is called, as a span is by its id."""
    return digest[:8]


def _alone(trace: bytes, digest: bytes, entry: dict[str, Any], at: str) -> Arrived:
    value = records.entry_of_logs([entry])
    session = records.session_of_log(entry)
    return Arrived(at, value, trace, _own_id(digest), session, records.logged_at(entry["log"]))


def attach(connection: sa.Connection, new: Sequence[Arrived]) -> None:
    """Give each span the records that waited for it."""
    by_span: dict[_Key, list[dict[str, Any]]] = {}
    keys = {(span.trace, span.id) for span in new}
    rows_taken = [row for row in _waiting(connection, {span.trace for span in new}) if _key(row) in keys]
    for row in rows_taken:
        by_span.setdefault(_key(row), []).append(row.entry["log"])
    for span in new:
        if logs := by_span.get((span.trace, span.id)):
            span.entry = records.with_logs(span.entry, logs)
    _remove(connection, rows_taken)


def some_overdue(connection: sa.Connection, before: datetime) -> bool:
    """Whether a record came before then whose span never came."""
    return connection.scalar(sa.select(LiveLog.trace).where(LiveLog.received_at < before).limit(1)) is not None


def overdue(connection: sa.Connection, before: datetime) -> list[Arrived]:
    """The records that came before then and whose span never came, as entries of their own; they wait no longer."""
    waiting = connection.execute(_find_overdue, {"before": before}).all()
    _remove(connection, waiting)
    return [_alone(*(bytes(row.trace), bytes(row.digest), row.entry, "a log record")) for row in waiting]


def _key(row: sa.Row[Any]) -> _Key:
    return bytes(row.trace), bytes(row.span)


def _remove(connection: sa.Connection, waiting: Iterable[sa.Row[Any]]) -> None:
    keys = [{"of_trace": row.trace, "of_span": row.span, "of_digest": row.digest} for row in waiting]
    if keys:
        connection.execute(_delete, keys)
