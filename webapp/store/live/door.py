"""The line on the dumps page that a day's spans come in by: one for each day, and not one for each request."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from webapp.config import Settings
from webapp.dumps.formats.otlp import plugin as _otlp
from webapp.store.ingest import MOST_PROBLEMS
from webapp.store.live.spans import Arrived
from webapp.store.models import Dump, DumpSession


class Count(NamedTuple):
    """What a request brought to one session."""

    session_id: int
    new: bool
    turns: int


class Door:
    """The dump of a day (UTC). It has no file: the spans themselves are the entries of their sessions."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def open(self, connection: sa.Connection) -> int:
        """Today's dump, made where it is missing."""
        now = datetime.now(UTC)
        name = f"spans of {now:%Y-%m-%d}"
        digest = hashlib.sha256(f"fencepost: {name}".encode()).hexdigest()
        found = connection.scalar(sa.select(Dump.id).where(Dump.sha256 == digest))
        if found is not None:
            return found
        values = {"filename": name, "format": _otlp.name, "bytes": 0, "state": "done", "problems": []}
        insert = sa.insert(Dump).values(sha256=digest, received_at=now, **values)
        return connection.scalars(insert.returning(Dump.id)).one()

    def count(
        self, connection: sa.Connection, dump_id: int, spans: list[Arrived], counts: Iterable[Count], size: int
    ) -> None:
        """Add what came to the dump's line: bytes, sessions, turns, and what was refused or came again."""
        counts = list(counts)
        fresh = [_link(connection, dump_id, count) for count in counts]
        values: dict[str, Any] = {
            "bytes": Dump.bytes + size,
            "session_count": Dump.session_count + sum(fresh),
            "turn_count": Dump.turn_count + sum(count.turns for count in counts),
        }
        said = [{"at": span.at, "reason": span.refused or _again(span)} for span in spans if _worth_a_line(span)]
        if said:
            listed = connection.scalars(sa.select(Dump.problems).where(Dump.id == dump_id)).one()
            values["problem_count"] = Dump.problem_count + len(said)
            values["problems"] = (listed + said)[:MOST_PROBLEMS]
        connection.execute(sa.update(Dump).where(Dump.id == dump_id).values(values))


def _worth_a_line(span: Arrived) -> bool:
    return span.repeated or span.refused is not None


def _again(span: Arrived) -> str:
    return f"the span {span.id.hex()} of the trace {span.trace.hex()} came again, unchanged; nothing was added"


def _link(connection: sa.Connection, dump_id: int, count: Count) -> int:
    """Link the session to the dump; 1 where it was not linked before."""
    linked = (DumpSession.dump_id == dump_id, DumpSession.session_id == count.session_id)
    more = sa.update(DumpSession).where(*linked).values(new_turns=DumpSession.new_turns + count.turns)
    if connection.execute(more).rowcount:
        return 0
    values = {"dump_id": dump_id, "session_id": count.session_id, "new_turns": count.turns}
    connection.execute(sa.insert(DumpSession).values(values))
    return 1
