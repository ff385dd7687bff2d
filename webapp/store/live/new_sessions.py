"""Writes sessions that begin with spans, short ones many at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import sqlalchemy as sa

from webapp.dumps.formats.otlp import plugin as otlp
from webapp.dumps.records import Problem, SessionStart
from webapp.store import search
from webapp.store.homes import rules
from webapp.store.live import reading
from webapp.store.live.daily_dump import Count
from webapp.store.live.spans import Arrived
from webapp.store.write import writing
from webapp.store.write.session_rows import SessionInput, folded
from webapp.store.write.session_state import SessionState
from webapp.store.write.state_cache import find_changed

_MOST_AT_ONCE = 500
"""spans of new sessions whose rows are made before they are written together"""


@dataclass(slots=True)
class _New:
    """A new session, read but not written."""

    session_input: SessionInput
    spans: list[Arrived]
    read: reading.Read


class Beginning:
    """Writes new sessions, short ones many at a time; `counts` and `states` say what came of them."""

    def __init__(self, connection: sa.Connection, dump_id: int, index: search.Pending, home: str) -> None:
        self.counts: list[Count] = []
        self.states: dict[int, reading.LiveState] = {}
        self._connection = connection
        self._dump_id: Callable[[sa.Connection], int] = lambda _: dump_id
        self._index = index
        self._waiting: list[_New] = []
        self._size = 0
        self._homes = rules.HomeChooser(rules.read(connection), home)

    def add(self, name: str, spans: list[Arrived]) -> None:
        """Take a new session, whose `spans` are in the order of time."""
        home, service = (_resource_text(spans, key) for key in (otlp.HOME, otlp.SERVICE))
        start = SessionStart(name, otlp.name, home, service=service)
        spans_read = reading.read(self._connection, 0, spans, 0, reading.Tail.of_nothing())
        session_input = SessionInput(start, spans_read.turns, self._homes.choose(start, ignore))
        self._waiting.append(_New(session_input, spans, spans_read))
        self._size += len(spans)
        if self._size >= _MOST_AT_ONCE:
            self.write()

    def write(self) -> None:
        """Write what waits."""
        short = [session for session in self._waiting if len(session.spans) <= _MOST_AT_ONCE]
        rows = [folded(session.session_input) for session in short]
        new = [session for session, _ in rows]
        outcomes = writing.write_new(self._connection, new, dump_id=self._dump_id, index=self._index) if new else []
        states = dict(zip(map(id, short), zip(outcomes, (state for _, state in rows), strict=True), strict=True))
        for session in self._waiting:
            outcome, state = states.get(id(session), (None, None))
            self._wrote(session, outcome or self._alone(session.session_input), state if outcome else None)
        self._waiting, self._size = [], 0

    def _alone(self, session: SessionInput) -> writing.SessionOutcome:
        """A long session, or one that is another revision of what came as a file of another format."""
        about = (self._connection, session)
        return writing.write(*about, dump_id=self._dump_id, on_problem=ignore, index=self._index)

    def _wrote(self, new: _New, outcome: writing.SessionOutcome, session: SessionState | None) -> None:
        reading.note(self._connection, outcome.id, new.spans, 0, new.read.turns)
        changed = self._connection.scalars(find_changed, {"session": outcome.id}).one()
        self.counts.append(Count(outcome.id, True, outcome.new_turns, changed, changed))
        if session is not None:
            session.session_id, session.rules, session.index = outcome.id, None, None
            self.states[outcome.id] = reading.LiveState(changed, session, True, new.read.tail)


def _resource_text(spans: list[Arrived], key: str) -> str | None:
    """What the first resource that says so says as `key`."""
    values = (reading.resource_value(span.entry, key) for span in spans)
    return next((value for value in values if isinstance(value, str) and value), None)


def ignore(_problem: Problem) -> None:
    """Places in a request say nothing once it is gone; what matters is said of each span."""
