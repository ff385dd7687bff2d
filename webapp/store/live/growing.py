"""Grows sessions by spans: known ones are left out, the rest is read in the order of time and finds its place."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from webapp.config import Settings
from webapp.dumps.formats.otlp import plugin as otlp
from webapp.dumps.records import Problem, SessionStart
from webapp.store import growth, search, writing
from webapp.store.dialect import change
from webapp.store.facets import Facets
from webapp.store.live import places, reading
from webapp.store.live.door import Count
from webapp.store.live.spans import Arrived
from webapp.store.models import LiveSpan, Session
from webapp.store.models import Turn as StoredTurn
from webapp.store.parsed import OURS, Parser, is_known

MOST_HELD = 64
"""Sessions whose state stays in memory; others are read again when they grow."""
_AT_ONCE = 500
_HOME = "fencepost.home"
_find = (
    sa.select(Session.id, Session.home_profile, Session.changed, Session.source_format, Session.deleted_at)
    .where(Session.external_id == sa.bindparam("name"))
    .order_by(Session.revision.desc())
    .limit(1)
)
_spans = LiveSpan.__table__
_find_digest = sa.select(StoredTurn.entry_sha256).where(
    StoredTurn.session_id == sa.bindparam("session"), StoredTurn.ordinal == sa.bindparam("ordinal")
)
_bring_back = sa.update(Session).where(Session.id == sa.bindparam("session")).values(deleted_at=None, changed=change())


@dataclass(slots=True)
class _State:
    """What growing a session needs of all that is stored of it; good while the session's `changed` is the same."""

    changed: int
    tally: places.PlacedTally
    facets: Facets
    raw_bytes: int
    parser: Parser


class Growing:
    """Writes spans to their sessions, and holds the state of those that grew last."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._held: OrderedDict[int, _State] = OrderedDict()
        self._next: dict[int, _State] = {}

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Around a transaction: what was held of sessions that it wrote counts only once it is committed."""
        self._next = {}
        try:
            yield
        except BaseException:
            for session_id in self._next:
                self._held.pop(session_id, None)
            raise
        for session_id, state in self._next.items():
            self._held[session_id] = state
            self._held.move_to_end(session_id)
        while len(self._held) > MOST_HELD:
            self._held.popitem(last=False)

    def grow(self, connection: sa.Connection, name: str, spans: list[Arrived], dump_id: int) -> Count:
        """Add those of `spans` that the session lacks, all or none; each of the others says why."""
        found = connection.execute(_find, {"name": name}).one_or_none()
        if found is None or found.source_format != otlp.name:
            return self._begin(connection, name, _each_once(spans), dump_id)
        if not reading.is_adopted(connection, found.id):
            reading.adopt(connection, found.id)
        new = _unknown(connection, found.id, _each_once(spans))
        if not new:
            return Count(found.id, False, 0)
        return Count(found.id, False, self._append(connection, found, new))

    def _begin(self, connection: sa.Connection, name: str, spans: list[Arrived], dump_id: int) -> Count:
        new = _numbered(spans, 0)
        read = otlp.turns([(span.at, span.entry) for span in new], {})
        turns = [turn for turn in read if not isinstance(turn, Problem)]
        start = SessionStart(name, otlp.name)
        outcome = writing.write(
            connection, start, turns, home=self._home(new), dump_id=lambda _: dump_id, problem=_ignore
        )
        reading.note(connection, outcome.id, new, 0, turns)
        return Count(outcome.id, True, outcome.new_turns)

    def _append(self, connection: sa.Connection, found: sa.Row[*tuple[Any, ...]], spans: list[Arrived]) -> int:
        state = self._state(connection, found)
        first = len(state.tally.positions)
        new = _numbered(spans, len(state.tally.firsts))
        read = reading.read(connection, found.id, new, first)
        state.tally.twins = read.twins
        writer = writing.Writer(
            *(connection, found.id, state.parser, state.tally, _ignore), facets=state.facets, raw_bytes=state.raw_bytes
        )
        for ordinal, text in read.failures:
            if state.tally.fail(ordinal):
                writer.gathering.failed(ordinal, text)
        writer.searched = search.is_indexed(connection, found.id)
        count = writer.write(read.turns)
        reading.note(connection, found.id, new, first, read.turns)
        places.settle(connection, found.id, state.tally, new)
        if found.deleted_at is not None:
            connection.execute(_bring_back, {"session": found.id})
        state.raw_bytes = writer.gathering.raw_bytes
        state.changed = connection.scalars(sa.select(Session.changed).where(Session.id == found.id)).one()
        self._next[found.id] = state
        return count

    def _state(self, connection: sa.Connection, found: sa.Row[*tuple[Any, ...]]) -> _State:
        held = self._next.get(found.id) or self._held.pop(found.id, None)
        if held is not None and held.changed == found.changed:
            self._next[found.id] = held
            return held
        tally = places.PlacedTally.of(growth.restored(connection, found.id, found.home_profile))
        facets, raw_bytes = growth.counted(connection, found.id)
        state = _State(found.changed, tally, facets, raw_bytes, Parser(found.home_profile))
        self._next[found.id] = state
        return state

    def _home(self, spans: list[Arrived]) -> str:
        """What the resource says as `fencepost.home`, else the setting."""
        for span in spans:
            name = reading.resource_value(span.entry, _HOME)
            if isinstance(name, str) and is_known(name):
                return name
        return self._settings.home if is_known(self._settings.home) else OURS


def _numbered(spans: list[Arrived], first: int) -> list[Arrived]:
    """The spans in the order of time, as entries of the session from `first` on."""
    spans = sorted(spans, key=lambda span: span.started)
    for number, span in enumerate(spans, first):
        span.number = number
    return spans


def _each_once(spans: list[Arrived]) -> list[Arrived]:
    """The first of each; one that comes again in the same moment says so."""
    first: dict[tuple[bytes, bytes], Arrived] = {}
    for span in spans:
        other = first.setdefault((span.trace, span.id), span)
        if other is not span:
            _compare(span, reading.digest(span.entry) == reading.digest(other.entry))
    return list(first.values())


def _unknown(connection: sa.Connection, session_id: int, spans: list[Arrived]) -> list[Arrived]:
    """Those of `spans` that the session does not hold."""
    there: dict[tuple[bytes, bytes], int] = {}
    for at in range(0, len(spans), _AT_ONCE):
        part = spans[at : at + _AT_ONCE]
        keys = sa.and_(_spans.c.trace.in_({span.trace for span in part}), _spans.c.span.in_({span.id for span in part}))
        query = sa.select(_spans.c.trace, _spans.c.span, _spans.c.ordinal).where(_spans.c.session_id == session_id)
        there |= {(bytes(row.trace), bytes(row.span)): row.ordinal for row in connection.execute(query.where(keys))}
    for span in spans:
        if (ordinal := there.get((span.trace, span.id))) is not None:
            stored = connection.scalar(_find_digest, {"session": session_id, "ordinal": ordinal})
            _compare(span, stored == reading.digest(span.entry))
    return [span for span in spans if (span.trace, span.id) not in there]


def _compare(span: Arrived, same: bool) -> None:
    if same:
        span.repeated = True
    else:
        span.refused = (
            f"the span {span.id.hex()} of the trace {span.trace.hex()} came again with other content; the first stays"
        )


def _ignore(_problem: Problem) -> None:
    """Places in a request say nothing once it is gone; what matters is said of each span."""
