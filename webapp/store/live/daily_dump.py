"""The line on the dumps page that a day's spans come in by: one for each day, and not one for each request."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from webapp.dumps.formats.otlp import plugin as _otlp
from webapp.store.ingest.start import MOST_PROBLEMS
from webapp.store.live.logs import ArrivedLog
from webapp.store.live.spans import Arrived
from webapp.store.models import Dump, DumpSession
from webapp.store.write import rows

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
    counts = list(counts)
    values: dict[str, Any] = {
        "bytes": Dump.bytes + size,
        "session_count": Dump.session_count + _link(connection, dump_id, counts),
        "turn_count": Dump.turn_count + sum(count.turns for count in counts),
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


def _link(connection: sa.Connection, dump_id: int, counts: list[Count]) -> int:
    """Link the sessions to the dump; how many were not linked before."""
    linked: set[int] = set()
    for at in range(0, len(counts), _AT_ONCE):
        ids = [count.session_id for count in counts[at : at + _AT_ONCE]]
        linked |= set(connection.scalars(_find_linked, {"dump": dump_id, "sessions": ids}))
    grown = [count for count in counts if count.session_id in linked and count.turns]
    more = [{"dump": dump_id, "session": count.session_id, "turns": count.turns} for count in grown]
    if more:
        connection.execute(_count_linked, more)
    fresh = [count for count in counts if count.session_id not in linked]
    values = [{"dump_id": dump_id, "session_id": count.session_id, "new_turns": count.turns} for count in fresh]
    rows.insert(connection, _links, values)
    return len(fresh)
