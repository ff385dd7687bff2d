"""Failure groups of stored parses: the trace of `fencepost` that they need, and making them anew where it changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import parsing
from webapp.parsing import Trace, stored_trace
from webapp.store.db.ids import batched
from webapp.store.models import Parse, Turn
from webapp.store.write import row_values, rows
from webapp.store.write.parser import OURS

_AT_ONCE = 200
_ours = orm.aliased(Parse)
_traces = sa.select(Parse.turn_id, Parse.trace).where(
    Parse.turn_id.in_(sa.bindparam("turns", expanding=True)), Parse.profile == OURS
)
_failed = (
    sa.select(Parse.id, Parse.trace, Parse.failure_group, Turn.raw, _ours.trace.label("ours"))
    .join(Turn, Turn.id == Parse.turn_id)
    .outerjoin(_ours, sa.and_(_ours.turn_id == Parse.turn_id, _ours.profile == OURS))
    .where(Parse.turn_id.in_(sa.bindparam("turns", expanding=True)), Parse.verdict == "failed")
)
_set_group = (
    sa.update(rows.parses)
    .where(rows.parses.c.id == sa.bindparam("parse"))
    .values({name: sa.bindparam(name) for name in ("failure_group", "failure_path", "failure_tokens")})
)


def with_ours(
    connection: sa.Connection, parsed: Sequence[tuple[int, str, Trace]]
) -> list[tuple[int, Trace, str, Trace]]:
    """What `row_values.parse_row` takes, of turns with their texts and new traces.

    `fencepost`'s trace is the stored one, made here where there is none; no failure needs it, it is the trace itself.
    """
    stored_traces = our_traces(connection, [turn_id for turn_id, _, trace in parsed if _needs_ours(trace)])
    complete: list[tuple[int, Trace, str, Trace]] = []
    for turn_id, raw, trace in parsed:
        ours = trace
        if _needs_ours(trace):
            ours = stored_traces.get(turn_id) or parsing.parse(raw, OURS)
        complete.append((turn_id, trace, raw, ours))
    return complete


def our_traces(connection: sa.Connection, turn_ids: Sequence[int]) -> dict[int, Trace]:
    """The stored traces of `fencepost`, by turn."""
    traces: dict[int, Trace] = {}
    for some in batched(turn_ids, _AT_ONCE):
        result = connection.execute(_traces, {"turns": some})
        traces |= {row.turn_id: Trace.from_dict(row.trace) for row in result}
    return traces


def regroup(connection: sa.Connection, turn_ids: Iterable[int]) -> int:
    """Make the failure groups of these turns' parses anew, as after `fencepost` read them again; how many changed."""
    changed = 0
    for some in batched(turn_ids, _AT_ONCE):
        updates = []
        for row in connection.execute(_failed, {"turns": some}):
            ours = parsing.parse(row.raw, OURS) if row.ours is None else stored_trace.read(row.raw, row.ours)
            columns = row_values.group_columns(row.raw, stored_trace.read(row.raw, row.trace), ours)
            updates.append({"parse": row.id, **columns})
            changed += columns["failure_group"] != row.failure_group
        if updates:
            connection.execute(_set_group, updates)
    return changed


def _needs_ours(trace: Trace) -> bool:
    return trace.verdict == "failed" and trace.profile != OURS
