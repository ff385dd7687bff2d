"""Grows sessions by spans: known ones are left out, the rest is read in the order of time and finds its place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from itertools import groupby
from typing import Any

import sqlalchemy as sa

from webapp.config import Settings
from webapp.dumps.records import Problem
from webapp.exports.session_dump import whole_entry
from webapp.store import search
from webapp.store.db.dialect import change
from webapp.store.live import lookup, places, reading
from webapp.store.live.daily_dump import Count
from webapp.store.live.new_sessions import Beginning, ignore
from webapp.store.live.spans import Arrived, arrived
from webapp.store.models import LiveSpan, Session
from webapp.store.models import Turn as StoredTurn
from webapp.store.write import arrival, list_rows, row_values, rows, stored_turns
from webapp.store.write.parser import SessionParser
from webapp.store.write.session_rows import SessionRows
from webapp.store.write.session_writer import SessionWriter
from webapp.store.write.state_cache import StateCache, find_changed

_AT_ONCE = 500
_find_span = sa.select(LiveSpan.entry).where(LiveSpan.session_id == sa.bindparam("session")).limit(1)
_find_entries = (
    sa.select(StoredTurn.entry, StoredTurn.ordinal, StoredTurn.source, StoredTurn.raw, StoredTurn.raw_at)
    .where(StoredTurn.session_id == sa.bindparam("session"))
    .order_by(StoredTurn.ordinal)
)
_bring_back = sa.update(Session).where(Session.id == sa.bindparam("session")).values(deleted_at=None, changed=change())


class Growing:
    """Writes spans to their sessions, and holds the state of those that grew last."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._held: StateCache[reading.LiveState] = StateCache()
        self._next: dict[int, reading.LiveState] = {}
        self._parser = cache(SessionParser)
        """one for all sessions of a home profile: what it remembers is for all the same"""

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Around a transaction: what is known of sessions that it wrote is held once it is committed."""
        self._next = {}
        yield
        for state in self._next.values():
            self._held.put(state)

    def grow(
        self, connection: sa.Connection, sessions: dict[str, list[Arrived]], dump_id: int, index: search.Pending
    ) -> list[Count]:
        """Add those spans that the sessions lack, all or none; each of the others says why. The caller commits."""
        by_name = lookup.stored(connection, list(sessions))
        for session in by_name.values():
            if self._held.get(session.id) is None and connection.scalar(_find_span, {"session": session.id}) is None:
                _adopt(connection, session.id)
        spans = lookup.unknown(connection, {name: session.id for name, session in by_name.items()}, sessions)
        counts = [self._append(connection, by_name[name], new, index) for name, new in spans.items() if name in by_name]
        beginning = Beginning(connection, dump_id, index, self._settings.home)
        for name, new in spans.items():
            if name not in by_name:
                beginning.add(name, _numbered(new, 0))
        beginning.write()
        self._next |= beginning.states
        counts += beginning.counts
        arrival.mark_live(connection, [count.session_id for count in counts if count.turns])
        return counts

    def renewed(self, session_id: int, before: int, after: int, rules: dict[str, int]) -> None:
        """The session's findings were renewed, which changed nothing else: what is held of it stays good."""
        state = self._held.get(session_id)
        if state is not None and state.changed == before:
            state.changed = after
            state.session.facets.finding = rules

    def _append(
        self, connection: sa.Connection, stored_session: lookup.LiveSession, spans: list[Arrived], index: search.Pending
    ) -> Count:
        if not spans:
            return Count(stored_session.id, False, 0)
        state = self._state(connection, stored_session)
        session, before = state.session, state.changed
        first = len(session.tally.positions)
        new = _numbered(spans, len(session.tally.firsts))
        follow = state.tail is not None and state.tail.precedes(new)
        spans_read = reading.read(connection, stored_session.id, new, first, state.tail)
        state.tail, session.index = spans_read.tail, index if state.searched else None
        session_rows = SessionRows(session, self._parser(stored_session.home), ignore, spans_read.twins)
        writer = SessionWriter(lambda: nullcontext(connection), session_rows)
        failed = [session_rows.fail_earlier(ordinal, text) for ordinal, text in spans_read.failures]
        count = writer.write(spans_read.turns)
        session.index = None
        reading.note(connection, stored_session.id, new, first, spans_read.turns)
        moved = not follow and places.settle(connection, stored_session.id, session.tally, new)
        if stored_session.deleted:
            connection.execute(_bring_back, {"session": stored_session.id})
            list_rows.renew(connection, [stored_session.id])
        state.changed = connection.scalars(find_changed, {"session": stored_session.id}).one()
        return Count(stored_session.id, False, count, before, state.changed, moved or any(failed))

    def _state(self, connection: sa.Connection, stored_session: lookup.LiveSession) -> reading.LiveState:
        """What is known of the session; it is taken out of what is held until its new spans are committed."""
        state = self._held.take(stored_session.id, stored_session.changed)
        if state is None:
            session = stored_turns.restored(connection, stored_session.id, stored_session.home)
            state = reading.LiveState(stored_session.changed, session, searched=False)
        state.searched = state.searched or search.is_indexed(connection, stored_session.id)
        self._next[stored_session.id] = state
        return state


def _numbered(spans: list[Arrived], first: int) -> list[Arrived]:
    """The spans in the order of time, as entries of the session from `first` on."""
    spans = sorted(spans, key=lambda span: span.started)
    for number, span in enumerate(spans, first):
        span.number = number
    return spans


def _adopt(connection: sa.Connection, session_id: int) -> None:
    """Note the spans of a session that came as a file, so that it can grow; of a span that stands twice the first."""
    entry_turns = connection.execute(_find_entries, {"session": session_id}, execution_options={"yield_per": _AT_ONCE})
    listed: dict[tuple[bytes, bytes], row_values.Row] = {}
    for entry, group in groupby(entry_turns, key=lambda turn: turn.entry):
        turns = list(group)
        span = next(iter(_span(whole_entry(turns[0].source, turns[0].raw, turns[0].raw_at))), None)
        if isinstance(span, Arrived):
            values = reading.row(session_id, span, entry, turns[0].ordinal, len(turns))
            listed.setdefault((span.trace, span.id), values)
    if listed:
        rows.insert(connection, reading.SPANS, list(listed.values()))


def _span(entry: Any) -> Iterator[Arrived | Problem]:
    if isinstance(entry, dict) and isinstance(entry.get("span"), dict):
        scopes = [{"scope": entry.get("scope"), "spans": [entry["span"]]}]
        yield from arrived([("", {"resource": entry.get("resource"), "scopeSpans": scopes})])
