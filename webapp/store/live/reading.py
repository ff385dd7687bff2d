"""Spans as they arrive: which are sound; and new ones read between the stored ones they stand among, as in one file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from webapp.dumps.formats import otlp
from webapp.dumps.linked_turns import call_id, linked
from webapp.dumps.records import Entry, Problem, Turn, changed
from webapp.dumps.spans import logs
from webapp.store.db.ids import batched
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


BEFORE, AFTER = 32, 64
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
    """A span in the order of time: a new one, or a stored one with the ordinals of its turns.

    `is_behind` says of a stored one that a new one is near before it, so that it may say less now.
    """

    number: int
    new: Arrived | None
    ordinal: int = 0
    turns: int = 0
    is_behind: bool = False

    @property
    def ordinals(self) -> range:
        return range(self.ordinal, self.ordinal + self.turns)


@dataclass(frozen=True, slots=True)
class Read:
    """What new spans say: `twins` maps ordinals of new turns to stored ones.

    By their ordinals, `told` are stored turns behind new ones as they are read now, `learned` are stored ones before of
    which new ones say more.
    """

    turns: list[Turn]
    twins: dict[int, int]
    told: list[tuple[int, Turn]]
    learned: list[tuple[int, Turn]]


def read(connection: sa.Connection, session_id: int, new: list[Arrived], originals: Sequence[int]) -> Read:
    """The turns of `new` (in the order of time) as entries of the session, whose turns repeat `originals`."""
    first = len(originals)
    reader, steps = otlp.Reader(), _steps(connection, session_id, new)
    stored_entries = entries(connection, session_id, [step.ordinal for step in steps if step.new is None])
    reads = {
        step.number: reader.turns(step.number, step.new.entry if step.new else stored_entries.get(step.ordinal, {}))
        for step in steps
    }
    turns_by_step = _linked(reads)
    turns = _new(steps, turns_by_step)
    told, unsaid = _read_again(connection, session_id, steps, turns_by_step, originals)
    twins = _twins(unsaid, steps, turns, first)
    told += [(twin.ordinal, turns[at - first]) for at, twin in twins.items()]
    for at, twin in twins.items():
        if twin.turn is not None:  # it has changed places with the other one of its pair, and times
            turns[at - first] = changed(turns[at - first], sent_at=twin.turn.sent_at)
    learned = list(_learned(connection, session_id, steps, reads, turns_by_step, originals))
    return Read(turns, {at: twin.ordinal for at, twin in twins.items()}, told, learned)


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
    at_new = [at for at, step in enumerate(ordered) if step.new]
    behind = {at + beside for at in at_new for beside in range(1, AFTER + 1)}
    near = behind | {at - beside for at in at_new for beside in range(BEFORE + 1)}
    return [replace(step, is_behind=at in behind and not step.new) for at, step in enumerate(ordered) if at in near]


_Said = tuple[str, str | None, str | None]
"""a turn's kind and text, and which call it is or answers"""


def _said(turn: Any) -> _Said:
    """What a turn says, or a row of its columns."""
    return turn.kind, turn.raw, turn.parent if turn.kind == "tool_result" else call_id(turn.tool_calls)


@dataclass(frozen=True, slots=True)
class _Unsaid:
    """A stored turn that its span does not say any more, since another says it before; `turn` is what it repeats as
    one of a pair, else None."""

    ordinal: int
    step: int
    turn: Turn | None


def _read_again(
    connection: sa.Connection,
    session_id: int,
    steps: list[_Step],
    turns_by_step: dict[int, list[Turn]],
    originals: Sequence[int],
) -> tuple[list[tuple[int, Turn]], dict[_Said, list[_Unsaid]]]:
    """What the spans behind new ones say now: stored turns by ordinal as they are read now, and those that are not
    said any more where they stand. Of a text that a span said twice, the last is what it still says."""
    behind = [(at, step) for at, step in enumerate(steps) if step.is_behind]
    stored = _stored(connection, session_id, [at for _, step in behind for at in step.ordinals])
    said = {original for at, original in enumerate(originals) if at not in stored} if behind else set()
    told, missing = list[tuple[int, Turn]](), list[tuple[_Said, _Unsaid]]()
    unsaid: dict[_Said, list[_Unsaid]] = {}
    for place, step in behind:
        turns: dict[_Said, list[Turn]] = {}
        for turn in turns_by_step[step.number]:
            turns.setdefault(_said(turn), []).append(turn)
        for ordinal in reversed(step.ordinals):
            key = stored[ordinal]
            now = turns[key].pop() if turns.get(key) else None
            if now is not None and now.duplicate_of is None:
                said.add(originals[ordinal])
                told.append((originals[ordinal], now))
            elif originals[ordinal] == ordinal:
                missing.append((key, _Unsaid(ordinal, place, now)))
    for key, one in sorted(missing, key=lambda pair: (pair[1].step, pair[1].ordinal)):
        if one.ordinal not in said:
            unsaid.setdefault(key, []).append(one)
    return told, unsaid


def _twins(
    missing: dict[_Said, list[_Unsaid]], steps: list[_Step], turns: list[Turn], first: int
) -> dict[int, _Unsaid]:
    """The turns of late spans that stored ones said first: they repeat the stored ones."""
    places = {step.number: place for place, step in enumerate(steps)}
    twins = {}
    for ordinal, turn in enumerate(turns, first):
        unsaid = missing.get(_said(turn), [])
        if turn.raw is not None and turn.duplicate_of is None and (twin := _twin(unsaid, turn, places[turn.entry])):
            twins[ordinal] = twin
            unsaid.remove(twin)
    return twins


def _twin(unsaid: list[_Unsaid], turn: Turn, place: int) -> _Unsaid | None:
    """The other one of its pair, else the next."""
    pair = [one for one in unsaid if one.turn is not None and one.turn.duplicate_of == turn.entry]
    after = [one for one in unsaid if one.turn is None and one.step > place]
    return next(iter(pair + after), None)


def _stored(connection: sa.Connection, session_id: int, ordinals: Iterable[int]) -> dict[int, _Said]:
    """What stored turns say, by their ordinals."""
    columns = (StoredTurn.ordinal, StoredTurn.kind, StoredTurn.raw, StoredTurn.parent, StoredTurn.tool_calls)
    query = sa.select(*columns).where(StoredTurn.session_id == session_id)
    said: dict[int, _Said] = {}
    for batch in batched(ordinals):
        rows = connection.execute(query.where(StoredTurn.ordinal.in_(batch)))
        said |= {row.ordinal: _said(row) for row in rows}
    return said


def _learned(
    connection: sa.Connection,
    session_id: int,
    steps: list[_Step],
    reads: dict[int, list[otlp.Read]],
    turns_by_step: dict[int, list[Turn]],
    originals: Sequence[int],
) -> Iterator[tuple[int, Turn]]:
    """The stored turns of which new ones say more: a call that could not be read, a twin that names the model."""
    if not any(turn.kind == "tool_result" or turn.duplicate_of is not None for turn in _new(steps, turns_by_step)):
        return
    for step in steps:
        as_read = {id(turn) for turn, _ in reads[step.number]}
        more = [turn for turn in turns_by_step[step.number] if id(turn) not in as_read and turn.duplicate_of is None]
        stored = _stored(connection, session_id, step.ordinals) if more and step.new is None else {}
        for turn in more:
            same = (ordinal for ordinal in sorted(stored) if stored[ordinal] == _said(turn))
            yield from ((originals[ordinal], changed(turn, sounding=None)) for ordinal in list(same)[:1])


def _new(steps: list[_Step], turns_by_step: dict[int, list[Turn]]) -> list[Turn]:
    return [turn for step in steps if step.new for turn in turns_by_step[step.number]]
