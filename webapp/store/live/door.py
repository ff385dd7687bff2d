"""The line on the dumps page that a day's spans come in by: one for each day, and not one for each request."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from webapp.config import Settings
from webapp.dumps.formats.otlp import plugin as _otlp
from webapp.store import rows
from webapp.store.ingest import MOST_PROBLEMS
from webapp.store.live.spans import Arrived
from webapp.store.models import Dump, DumpSession

_AT_ONCE = 500
_links = rows.plain(DumpSession)
_find_linked = sa.select(DumpSession.session_id).where(
    DumpSession.dump_id == sa.bindparam("dump"), DumpSession.session_id.in_(sa.bindparam("sessions", expanding=True))
)
_count_linked = (
    sa.update(DumpSession.__table__)  # type: ignore[arg-type]
    .where(
        DumpSession.__table__.c.dump_id == sa.bindparam("dump"),
        DumpSession.__table__.c.session_id == sa.bindparam("session"),
    )
    .values(new_turns=DumpSession.__table__.c.new_turns + sa.bindparam("turns"))
)


class Count(NamedTuple):
    """What a request brought to one session, whose `changed` was `before` and is `changed`.

    `moved` says whether stored turns have other positions now, or other failures.
    """

    session_id: int
    new: bool
    turns: int
    before: int = 0
    changed: int = 0
    moved: bool = False


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
        values: dict[str, Any] = {
            "bytes": Dump.bytes + size,
            "session_count": Dump.session_count + _link(connection, dump_id, counts),
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


def _link(connection: sa.Connection, dump_id: int, counts: list[Count]) -> int:
    """Link the sessions to the dump; how many were not linked before."""
    values = [{"dump": dump_id, "session": count.session_id, "turns": count.turns} for count in counts]
    linked: set[int] = set()
    for at in range(0, len(values), _AT_ONCE):
        some = {"dump": dump_id, "sessions": [value["session"] for value in values[at : at + _AT_ONCE]]}
        linked |= set(connection.scalars(_find_linked, some))
    if more := [value for value in values if value["session"] in linked and value["turns"]]:
        connection.execute(_count_linked, more)
    if fresh := [value for value in values if value["session"] not in linked]:
        rows.insert(connection, _links, [_named(value) for value in fresh])
    return len(fresh)


def _named(value: dict[str, int]) -> rows.Row:
    return {"dump_id": value["dump"], "session_id": value["session"], "new_turns": value["turns"]}
