"""Reads new spans between the stored ones they stand among, so that they are understood as in one file."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import sqlalchemy as sa

from webapp import jsontext
from webapp.dumps.formats.otlp import plugin as otlp
from webapp.dumps.records import Problem, Turn
from webapp.exports.session_dump import whole_entry
from webapp.store.live.spans import Arrived, arrived
from webapp.store.models import LiveSpan
from webapp.store.models import Turn as StoredTurn

BEFORE, AFTER = 32, 4
"""How many stored spans before each new one, and after a late one, are read along."""
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Read:
    """What new spans say: `twins` maps ordinals of new turns to stored ones, `failures` are of stored turns."""

    turns: list[Turn]
    twins: dict[int, int]
    failures: list[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class _Step:
    """A span in the order of time: a new one, or a stored one with the ordinals of its turns."""

    number: int
    new: Arrived | None
    ordinal: int = 0
    turns: int = 0


def digest(entry: dict[str, Any]) -> bytes:
    """The hash of an entry, as `rows.entry_digest` makes it of its first turn."""
    return hashlib.sha256(jsontext.dumps(entry).encode("ascii")).digest()


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
    steps = _steps(connection, session_id, new)
    entries = _entries(connection, session_id, [step for step in steps if step.new is None])
    given = [(step.new.at, step.new.entry) if step.new else ("", entries.get(step.ordinal, {})) for step in steps]
    numbers = [step.number for step in steps]
    by_step: dict[int, list[Turn]] = {index: [] for index in range(len(steps))}
    for turn in otlp.turns(given, {}):
        if not isinstance(turn, Problem):
            by_step[turn.entry].append(turn)
    turns = [_numbered(turn, numbers) for index, step in enumerate(steps) if step.new for turn in by_step[index]]
    late = [index for index, step in enumerate(steps) if not step.new and any(other.new for other in steps[:index])]
    twins = _twins(connection, session_id, steps, by_step, turns, first, late)
    return Read(turns, twins, list(_failures(connection, session_id, steps, by_step)))


def note(connection: sa.Connection, session_id: int, new: list[Arrived], first: int, turns: Iterable[Turn]) -> None:
    """Keep where each new span stands, now that its turns are stored from the ordinal `first` on."""
    counts = Counter(turn.entry for turn in turns)
    listed = []
    for span in new:
        place = {"entry": span.number, "ordinal": first, "turns": counts[span.number]}
        listed.append(
            {"trace": span.trace, "span": span.id, "session_id": session_id, "started": span.started, **place}
        )
        first += counts[span.number]
    connection.execute(sa.insert(LiveSpan), listed)


def is_adopted(connection: sa.Connection, session_id: int) -> bool:
    """Whether the session's spans are noted, as those of a session that came as a file are not."""
    return connection.scalar(sa.select(LiveSpan.entry).where(LiveSpan.session_id == session_id).limit(1)) is not None


def adopt(connection: sa.Connection, session_id: int) -> None:
    """Note the spans of a session that came as a file, so that it can grow; of a span that stands twice the first."""
    query = sa.select(StoredTurn.entry, StoredTurn.ordinal, *_WHOLE).where(StoredTurn.session_id == session_id)
    rows = connection.execute(query.order_by(StoredTurn.ordinal).execution_options(yield_per=_AT_ONCE))
    listed: dict[tuple[bytes, bytes], dict[str, Any]] = {}
    for entry, group in groupby(rows, key=lambda row: row.entry):
        turns = list(group)
        span = next(iter(_span(whole_entry(turns[0].source, turns[0].raw, turns[0].raw_at))), None)
        if isinstance(span, Arrived):
            place = {"entry": entry, "ordinal": turns[0].ordinal, "turns": len(turns)}
            values = {"trace": span.trace, "span": span.id, "session_id": session_id, "started": span.started, **place}
            listed.setdefault((span.trace, span.id), values)
    if listed:
        connection.execute(sa.insert(LiveSpan), list(listed.values()))


_WHOLE = (StoredTurn.source, StoredTurn.raw, StoredTurn.raw_at)


def _span(entry: Any) -> Iterator[Arrived | Problem]:
    if isinstance(entry, dict) and isinstance(entry.get("span"), dict):
        scopes = [{"scope": entry.get("scope"), "spans": [entry["span"]]}]
        yield from arrived([("", {"resource": entry.get("resource"), "scopeSpans": scopes})])


def _steps(connection: sa.Connection, session_id: int, new: list[Arrived]) -> list[_Step]:
    """The new spans and the stored ones near them, in the order of time."""
    start = new[0].started
    query = sa.select(LiveSpan.entry, LiveSpan.ordinal, LiveSpan.turns, LiveSpan.started)
    query = query.where(LiveSpan.session_id == session_id)
    back = query.where(LiveSpan.started <= start).order_by(LiveSpan.started.desc(), LiveSpan.entry.desc())
    rows = [*reversed(connection.execute(back.limit(BEFORE)).all())]
    rows += connection.execute(query.where(LiveSpan.started > start)).all()
    steps = [(row.started, row.entry, _Step(row.entry, None, row.ordinal, row.turns)) for row in rows]
    steps += [(span.started, span.number, _Step(span.number, span)) for span in new]
    ordered = [step for *_, step in sorted(steps, key=lambda step: step[:2])]
    return [step for step, near in zip(ordered, _near(ordered), strict=True) if near]


def _near(steps: list[_Step]) -> list[bool]:
    near = [step.new is not None for step in steps]
    for walk, reach in ((range(len(steps)), AFTER), (range(len(steps) - 1, -1, -1), BEFORE)):
        since = reach
        for index in walk:
            since = 0 if steps[index].new else since + 1
            near[index] |= since <= reach and (since > 0 or steps[index].new is not None)
    return near


def _entries(connection: sa.Connection, session_id: int, steps: list[_Step]) -> dict[int, dict[str, Any]]:
    """The stored entries, by the ordinal of their first turn."""
    found: dict[int, dict[str, Any]] = {}
    for at in range(0, len(steps), _AT_ONCE):
        ordinals = [step.ordinal for step in steps[at : at + _AT_ONCE]]
        query = sa.select(StoredTurn.ordinal, *_WHOLE).where(StoredTurn.session_id == session_id)
        for row in connection.execute(query.where(StoredTurn.ordinal.in_(ordinals))):
            entry = whole_entry(row.source, row.raw, row.raw_at)
            found[row.ordinal] = entry if isinstance(entry, dict) else {}
    return found


def _numbered(turn: Turn, numbers: list[int]) -> Turn:
    again = None if turn.duplicate_of is None else numbers[turn.duplicate_of]
    return replace(turn, entry=numbers[turn.entry], duplicate_of=again)


def _twins(
    connection: sa.Connection,
    session_id: int,
    steps: list[_Step],
    by_step: dict[int, list[Turn]],
    turns: list[Turn],
    first: int,
    late: list[int],
) -> dict[int, int]:
    """What stored spans said first that now a late span says before them: its turns repeat the stored ones."""
    there: dict[tuple[str, str | None], list[int]] = {}
    for index in late:
        said = Counter[tuple[str, str | None]](
            (turn.kind, turn.raw) for turn in by_step[index] if turn.duplicate_of is None
        )
        for ordinal, kind, raw in _stored(connection, session_id, steps[index]):
            if said[kind, raw]:
                said[kind, raw] -= 1
            else:
                there.setdefault((kind, raw), []).append(ordinal)
    twins = {}
    for ordinal, turn in enumerate(turns, first):
        if turn.raw is not None and turn.duplicate_of is None and (found := there.get((turn.kind, turn.raw))):
            twins[ordinal] = found.pop(0)
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
    connection: sa.Connection, session_id: int, steps: list[_Step], by_step: dict[int, list[Turn]]
) -> Iterator[tuple[int, str]]:
    """The stored calls that an answer says could not be read."""
    for index, step in enumerate(steps):
        for turn in by_step[index]:
            if step.new is None and turn.failure is not None:
                stored = _stored(connection, session_id, step)
                same = (ordinal for ordinal, kind, raw in stored if (kind, raw) == (turn.kind, turn.raw))
                yield from ((ordinal, turn.failure) for ordinal in list(same)[:1])
