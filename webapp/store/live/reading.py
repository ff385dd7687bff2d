"""Spans as they arrive: which are sound; and new ones read between the stored ones they stand among, as in one file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from webapp.dumps.formats import otlp
from webapp.dumps.linked_turns import linked
from webapp.dumps.records import Entry, Problem, Turn
from webapp.dumps.spans import logs
from webapp.store.live.lookup import SPAN, TRACE, Arrived, entries, id_bytes
from webapp.store.models import LiveSpan
from webapp.store.models import Turn as StoredTurn
from webapp.store.write import rows

_LATEST = 2**63 - 1
"""nanoseconds: the year 2262, the last that the column holds"""


def arrived(groups: Iterable[tuple[str, dict[str, Any] | Problem]]) -> Iterator[Arrived | Problem]:
    """The spans of a request's ResourceSpans; what cannot be taken is a problem."""
    for at, group in groups:
        if isinstance(group, Problem):
            yield group
            continue
        for raw_entry in otlp.spans_of(at, group):
            yield raw_entry if isinstance(raw_entry, Problem) else _sound(raw_entry)


def _sound(raw_entry: Entry) -> Arrived | Problem:
    """A span needs both ids (opentelemetry-proto, trace.proto): without them one that comes again is not known."""
    at, entry = raw_entry
    identity = logs.identity(entry)
    trace, span = id_bytes(identity.trace, TRACE), id_bytes(identity.span, SPAN)
    if trace is None:
        return Problem(at, "its traceId is not 16 bytes, or all zeros")
    if span is None:
        return Problem(at, "its spanId is not 8 bytes, or all zeros")
    started = otlp.NO_TIME if identity.started is None else max(otlp.NO_TIME, min(identity.started, _LATEST))
    return Arrived(at, entry, trace, span, identity.session, started)


BEFORE, AFTER = 32, 4
"""How many stored spans before each new one, and after a late one, are read along."""
_of_session = sa.select(LiveSpan.entry, LiveSpan.ordinal, LiveSpan.turns, LiveSpan.started).where(
    LiveSpan.session_id == sa.bindparam("session")
)
_before = (
    _of_session.where(LiveSpan.started <= sa.bindparam("start"))
    .order_by(LiveSpan.started.desc(), LiveSpan.entry.desc())
    .limit(BEFORE)
)
_after = _of_session.where(LiveSpan.started > sa.bindparam("start"))


@dataclass(frozen=True, slots=True)
class _Step:
    """A span in the order of time: a new one, or a stored one with the ordinals of its turns."""

    number: int
    new: Arrived | None
    ordinal: int = 0
    turns: int = 0


@dataclass(frozen=True, slots=True)
class Read:
    """What new spans say: `twins` maps ordinals of new turns to stored ones, `failures` are of stored turns."""

    turns: list[Turn]
    twins: dict[int, int]
    failures: list[tuple[int, str]]


def resource_value(entry: dict[str, Any], key: str) -> Any:
    """A text attribute of the span's resource."""
    resource = entry.get("resource")
    listed = resource.get("attributes") if isinstance(resource, dict) else None
    for pair in listed if isinstance(listed, list) else []:
        if isinstance(pair, dict) and pair.get("key") == key and isinstance(pair.get("value"), dict):
            return pair["value"].get("stringValue")
    return None


def read(connection: sa.Connection, session_id: int, new: list[Arrived], first: int) -> Read:
    """The turns of `new` (in the order of time) as entries of the session; `first` is their first turn's ordinal."""
    reader, steps = otlp.Reader(), _steps(connection, session_id, new)
    stored_entries = entries(connection, session_id, [step.ordinal for step in steps if step.new is None])
    reads = {
        step.number: reader.turns(step.number, step.new.entry if step.new else stored_entries.get(step.ordinal, {}))
        for step in steps
    }
    turns_by_step = _linked(reads)
    turns = [turn for step in steps if step.new for turn in turns_by_step[step.number]]
    first_new = next(index for index, step in enumerate(steps) if step.new)
    late = [step for step in steps[first_new:] if not step.new]  # the stored spans that new ones stand before
    twins = _twins(connection, session_id, late, turns_by_step, turns, first) if late else {}
    return Read(turns, twins, list(_failures(connection, session_id, steps, turns_by_step)))


def _linked(reads: dict[int, list[otlp.Read]]) -> dict[int, list[Turn]]:
    """The turns of each step, by its number."""
    turns: dict[int, list[Turn]] = {number: [] for number in reads}
    for turn in linked(pair for pairs in reads.values() for pair in pairs):
        if not isinstance(turn, Problem):
            turns[turn.entry].append(turn)
    return turns


def note(connection: sa.Connection, session_id: int, new: list[Arrived], first: int, turns: Iterable[Turn]) -> None:
    """Keep where each new span stands, now that its turns are stored from the ordinal `first` on."""
    counts = Counter(turn.entry for turn in turns)
    listed = []
    for span in new:
        listed.append(row(session_id, span, span.number, first, counts[span.number]))
        first += counts[span.number]
    connection.execute(sa.insert(LiveSpan), listed)


def row(session_id: int, span: Arrived, entry: int, ordinal: int, turns: int) -> rows.Row:
    key = {"trace": span.trace, "span": span.id, "session_id": session_id, "started": span.started}
    return {**key, "entry": entry, "ordinal": ordinal, "turns": turns}


def _steps(connection: sa.Connection, session_id: int, new: list[Arrived]) -> list[_Step]:
    """The new spans and the stored ones near them, in the order of time."""
    values = {"session": session_id, "start": new[0].started}
    rows = [*reversed(connection.execute(_before, values).all()), *connection.execute(_after, values)]
    steps = [(row.started, row.entry, _Step(row.entry, None, row.ordinal, row.turns)) for row in rows]
    steps += [(span.started, span.number, _Step(span.number, span)) for span in new]
    ordered = [step for *_, step in sorted(steps, key=lambda step: step[:2])]
    near = {at + beside for at, step in enumerate(ordered) if step.new for beside in range(-BEFORE, AFTER + 1)}
    return [step for at, step in enumerate(ordered) if at in near]


def _twins(
    connection: sa.Connection,
    session_id: int,
    late: list[_Step],
    turns_by_step: dict[int, list[Turn]],
    turns: list[Turn],
    first: int,
) -> dict[int, int]:
    """What stored spans said first that now a late span says before them: its turns repeat the stored ones."""
    originals: dict[tuple[str, str | None], list[int]] = {}
    for step in late:
        counts = Counter[tuple[str, str | None]](
            (turn.kind, turn.raw) for turn in turns_by_step[step.number] if turn.duplicate_of is None
        )
        for ordinal, kind, raw in _stored(connection, session_id, step):
            if counts[kind, raw]:
                counts[kind, raw] -= 1
            else:
                originals.setdefault((kind, raw), []).append(ordinal)
    twins = {}
    for ordinal, turn in enumerate(turns, first):
        if turn.raw is not None and turn.duplicate_of is None and (ordinals := originals.get((turn.kind, turn.raw))):
            twins[ordinal] = ordinals.pop(0)
    return twins


def _stored(connection: sa.Connection, session_id: int, step: _Step) -> list[tuple[int, str, str | None]]:
    """The turns of a stored span that repeat nothing: ordinal, kind, text."""
    query = sa.select(StoredTurn.ordinal, StoredTurn.kind, StoredTurn.raw).where(
        StoredTurn.session_id == session_id,
        StoredTurn.ordinal.between(step.ordinal, step.ordinal + step.turns - 1),
        StoredTurn.duplicate_of.is_(None),
    )
    return [(row.ordinal, row.kind, row.raw) for row in connection.execute(query.order_by(StoredTurn.ordinal))]


def _failures(
    connection: sa.Connection, session_id: int, steps: list[_Step], turns: dict[int, list[Turn]]
) -> Iterator[tuple[int, str]]:
    """The stored calls that a new answer says could not be read."""
    if not any(turn.kind == "tool_result" for step in steps if step.new for turn in turns[step.number]):
        return
    for step in steps:
        for turn in turns[step.number]:
            if step.new is None and turn.failure is not None:
                rows = _stored(connection, session_id, step)
                same = (ordinal for ordinal, kind, raw in rows if (kind, raw) == (turn.kind, turn.raw))
                yield from ((ordinal, turn.failure) for ordinal in list(same)[:1])
