"""The line on the dumps page that a day's spans come in by: one for each day, and not one for each request."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from webapp.dumps.formats.otlp import plugin as _otlp
from webapp.store.ingest import dump_links
from webapp.store.ingest.start import MOST_PROBLEMS
from webapp.store.live.logs import ArrivedLog
from webapp.store.live.spans import Arrived
from webapp.store.models import Dump


class Count(NamedTuple):
    """What a request brought to one session."""

    session_id: int
    new: bool
    turns: int


def today(connection: sa.Connection) -> int:
    """The dump of this day (UTC), made where it is missing. It has no file: the spans themselves are the entries of
    their sessions."""
    now = datetime.now(UTC)
    name = f"spans of {now:%Y-%m-%d}"
    digest = hashlib.sha256(f"fencepost: {name}".encode()).hexdigest()
    dump_id = connection.scalar(sa.select(Dump.id).where(Dump.sha256 == digest))
    if dump_id is not None:
        return dump_id
    values = {"filename": name, "format": _otlp.name, "bytes": 0, "state": "done", "problems": []}
    insert = sa.insert(Dump).values(sha256=digest, received_at=now, **values)
    return connection.scalars(insert.returning(Dump.id)).one()


def count(
    connection: sa.Connection,
    dump_id: int,
    arrived: Sequence[Arrived | ArrivedLog],
    counts: Iterable[Count],
    size: int,
) -> None:
    """Add what came to the dump's line: bytes, sessions, turns, and what was refused or came again."""
    new_turns = {count.session_id: count.turns for count in counts}
    values: dict[str, Any] = {
        "bytes": Dump.bytes + size,
        "session_count": Dump.session_count + dump_links.add(connection, dump_id, new_turns),
        "turn_count": Dump.turn_count + sum(new_turns.values()),
    }
    problems = [{"at": one.at, "reason": reason} for one in arrived if (reason := _reason(one)) is not None]
    if problems:
        listed = connection.scalars(sa.select(Dump.problems).where(Dump.id == dump_id)).one()
        values["problem_count"] = Dump.problem_count + len(problems)
        values["problems"] = (listed + problems)[:MOST_PROBLEMS]
    connection.execute(sa.update(Dump).where(Dump.id == dump_id).values(values))


def _reason(one: Arrived | ArrivedLog) -> str | None:
    """Why nothing was added, where nothing was."""
    if isinstance(one, ArrivedLog):
        came = f"a log record of the trace {one.trace.hex()} was sent again, unchanged; nothing was added"
        return came if one.repeated else None
    if one.repeated and one.refused is None:
        return f"the span {one.id.hex()} of the trace {one.trace.hex()} was sent again, unchanged; nothing was added"
    return one.refused
