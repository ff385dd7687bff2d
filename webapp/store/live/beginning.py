"""Writes sessions that begin with spans, short ones many at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from webapp.dumps.formats.otlp import plugin as otlp
from webapp.dumps.records import Problem, SessionStart
from webapp.store import search, writing
from webapp.store.gathering import Gathering
from webapp.store.live import places, reading
from webapp.store.live.door import Count
from webapp.store.live.held import State
from webapp.store.live.spans import Arrived
from webapp.store.models import Session
from webapp.store.preparing import Given, gathered

_MOST_AT_ONCE = 500
"""spans of new sessions whose rows are made before they are written together"""
_find_changed = sa.select(Session.changed).where(Session.id == sa.bindparam("session"))


@dataclass(slots=True)
class _New:
    """A new session, read but not written."""

    name: str
    spans: list[Arrived]
    home: str
    read: reading.Read


class Beginning:
    """Writes new sessions, short ones many at a time; `counts` and `states` say what came of them."""

    def __init__(self, connection: sa.Connection, dump_id: int, index: search.Pending) -> None:
        self.counts: list[Count] = []
        self.states: dict[int, State] = {}
        self._connection = connection
        self._dump_id = dump_id
        self._index = index
        self._waiting: list[_New] = []
        self._size = 0

    def add(self, name: str, spans: list[Arrived], home: str) -> None:
        """Take a new session, whose `spans` are in the order of time."""
        read = reading.read(self._connection, 0, spans, 0, reading.Tail.of_nothing())
        self._waiting.append(_New(name, spans, home, read))
        self._size += len(spans)
        if self._size >= _MOST_AT_ONCE:
            self.write()

    def write(self) -> None:
        """Write what waits."""
        short = [one for one in self._waiting if len(one.spans) <= _MOST_AT_ONCE]
        made = [gathered(Given(SessionStart(one.name, otlp.name), one.read.turns, one.home)) for one in short]
        outcomes: Sequence[writing.Outcome | None] = ()
        if made:
            prepared = [rows for rows, _ in made]
            outcomes = writing.write_new(self._connection, prepared, dump_id=self._dump, index=self._index)
        counted = (gathering for _, gathering in made)
        done = dict(zip((one.name for one in short), zip(outcomes, counted, strict=True), strict=True))
        for one in self._waiting:
            outcome, gathering = done.get(one.name, (None, None))
            self._wrote(one, outcome or self._alone(one), gathering if outcome else None)
        self._waiting, self._size = [], 0

    def _alone(self, one: _New) -> writing.Outcome:
        """A long session, or one that is another revision of what came as a file of another format."""
        start = SessionStart(one.name, otlp.name)
        return writing.write(
            *(self._connection, start, one.read.turns),
            home=one.home,
            dump_id=self._dump,
            problem=ignore,
            index=self._index,
        )

    def _wrote(self, one: _New, outcome: writing.Outcome, made: Gathering | None) -> None:
        reading.note(self._connection, outcome.id, one.spans, 0, one.read.turns)
        changed = self._connection.scalars(_find_changed, {"session": outcome.id}).one()
        self.counts.append(Count(outcome.id, True, outcome.new_turns, changed, changed))
        if made is not None:
            tally = places.PlacedTally.of(made.tally)
            self.states[outcome.id] = State(changed, tally, made.facets, made.raw_bytes, True, one.read.tail)

    def _dump(self, _: sa.Connection) -> int:
        return self._dump_id


def ignore(_problem: Problem) -> None:
    """Places in a request say nothing once it is gone; what matters is said of each span."""
