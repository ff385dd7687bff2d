"""Grows sessions by spans: known ones are left out, the rest is read in the order of time and finds its place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from webapp.config import Settings
from webapp.store import growth, search, writing
from webapp.store.dialect import change
from webapp.store.live import known, places, reading
from webapp.store.live.adopting import adopt, is_adopted
from webapp.store.live.beginning import Beginning, ignore
from webapp.store.live.door import Count
from webapp.store.live.held import Held, State
from webapp.store.live.spans import Arrived
from webapp.store.models import Session
from webapp.store.parsed import OURS, Parser, is_known

_HOME = "fencepost.home"
_bring_back = sa.update(Session).where(Session.id == sa.bindparam("session")).values(deleted_at=None, changed=change())
_find_changed = sa.select(Session.changed).where(Session.id == sa.bindparam("session"))


class Growing:
    """Writes spans to their sessions, and holds the state of those that grew last."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._held = Held()
        self._next: dict[int, State] = {}
        self._parsers: dict[str, Parser] = {}

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Around a transaction: what is known of sessions that it wrote is held once it is committed."""
        self._next = {}
        yield
        for session_id, state in self._next.items():
            self._held.put(session_id, state)

    def grow(
        self, connection: sa.Connection, sessions: dict[str, list[Arrived]], dump_id: int, index: search.Pending
    ) -> list[Count]:
        """Add those spans that the sessions lack, all or none; each of the others says why. The caller commits."""
        stored = known.stored(connection, list(sessions))
        for found in stored.values():
            if self._held.get(found.id) is None and not is_adopted(connection, found.id):
                adopt(connection, found.id)
        spans = known.unknown(connection, {name: found.id for name, found in stored.items()}, sessions)
        counts = [self._append(connection, stored[name], new, index) for name, new in spans.items() if name in stored]
        beginning = Beginning(connection, dump_id, index)
        for name, new in spans.items():
            if name not in stored:
                beginning.add(name, _numbered(new, 0), self._home(new))
        beginning.write()
        self._next |= beginning.states
        return counts + beginning.counts

    def renewed(self, session_id: int, before: int, after: int, rules: dict[str, int]) -> None:
        """The session's findings were renewed, which changed nothing else: what is held of it stays good."""
        state = self._held.get(session_id)
        if state is not None and state.changed == before:
            state.changed = after
            state.facets.finding = rules

    def _append(
        self, connection: sa.Connection, found: known.Stored, spans: list[Arrived], index: search.Pending
    ) -> Count:
        if not spans:
            return Count(found.id, False, 0)
        state = self._state(connection, found)
        before, first = state.changed, len(state.tally.positions)
        new = _numbered(spans, len(state.tally.firsts))
        follow = state.tail is not None and state.tail.precedes(new)
        read = reading.read(connection, found.id, new, first, state.tail)
        state.tally.twins, state.tail = read.twins, read.tail
        about = (found.id, self._parser(found.home), state.tally, ignore)
        writer = writing.Writer(connection, *about, index=index, facets=state.facets, raw_bytes=state.raw_bytes)
        failures = [(ordinal, text) for ordinal, text in read.failures if state.tally.fail(ordinal)]
        for ordinal, text in failures:
            writer.gathering.failed(ordinal, text)
        writer.searched = state.searched
        count = writer.write(read.turns)
        reading.note(connection, found.id, new, first, read.turns)
        moved = not follow and places.settle(connection, found.id, state.tally, new)
        if found.deleted:
            connection.execute(_bring_back, {"session": found.id})
        state.raw_bytes = writer.gathering.raw_bytes
        state.changed = connection.scalars(_find_changed, {"session": found.id}).one()
        return Count(found.id, False, count, before, state.changed, moved or bool(failures))

    def _state(self, connection: sa.Connection, found: known.Stored) -> State:
        """What is known of the session; it is taken out of what is held until its new spans are committed."""
        state = self._held.take(found.id)
        if state is None or state.changed != found.changed:
            tally = places.PlacedTally.of(growth.restored(connection, found.id, found.home))
            facets, raw_bytes = growth.counted(connection, found.id)
            state = State(found.changed, tally, facets, raw_bytes, searched=False)
        state.searched = state.searched or search.is_indexed(connection, found.id)
        self._next[found.id] = state
        return state

    def _parser(self, home: str) -> Parser:
        """One for all sessions of a home profile: what it remembers is for all the same."""
        return self._parsers.setdefault(home, Parser(home))

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
