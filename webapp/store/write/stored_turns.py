"""Reads a stored session's turns with their traces, and folds its derived state from them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.contracts import BROKEN
from webapp.dumps.records import Stop, Turn
from webapp.parsing import Trace
from webapp.store import search
from webapp.store.models import Declaration, Parse, Session, TurnContract
from webapp.store.models import Turn as StoredTurn
from webapp.store.write.facets import Facets
from webapp.store.write.home import UNKNOWN
from webapp.store.write.parser import OURS
from webapp.store.write.session_state import PlacedTurn, SessionState
from webapp.store.write.tally import MODEL_KINDS, Tally

_AT_ONCE = 200
"""rows fetched together; a row holds a turn, its entry and its traces"""
_AT_ONCE_BARE = 1000

home_parse, our_parse = orm.aliased(Parse), orm.aliased(Parse)


def join_parses(query: sa.Select[*tuple[Any, ...]], home: Any) -> sa.Select[*tuple[Any, ...]]:
    """Turns with their `home_parse` under the profile `home`, and `our_parse` under `fencepost`; NULL for none."""
    query = query.outerjoin(home_parse, sa.and_(home_parse.turn_id == StoredTurn.id, home_parse.profile == home))
    return query.outerjoin(our_parse, sa.and_(our_parse.turn_id == StoredTurn.id, our_parse.profile == OURS))


def _with_parses(column: str, *columns: Any) -> sa.Select[*tuple[Any, ...]]:
    """The turns of a `session` (a number) in order, with a column of their parses under its `home` and `fencepost`."""
    query = sa.select(*columns, getattr(home_parse, column).label("home"), getattr(our_parse, column).label("ours"))
    query = join_parses(query, sa.bindparam("home"))
    return query.where(StoredTurn.session_id == sa.bindparam("session")).order_by(StoredTurn.ordinal)


_PLACE = (
    StoredTurn.ordinal,
    StoredTurn.position,
    StoredTurn.entry,
    StoredTurn.kind,
    StoredTurn.model,
    StoredTurn.sent_at,
    (StoredTurn.duplicate_of - (StoredTurn.id - StoredTurn.ordinal)).label("original"),
)
_NAMES = ("role", "agent", "phase", "sounding", "round", "raw", "tool_calls", "source", "arguments")
_SPENT = ("tokens_in", "tokens_out", "tokens_reasoning", "cost", "host", "is_error", "most_rounds")
_SAME = ("entry", "kind", "model", "sent_at", *_NAMES, *_SPENT)
_OTHERS = ("recorded_failure", "stop", "stop_said", "declaration_id")
"""columns that a turn has under the same name"""
_next_turns = (
    _with_parses(
        "trace",
        StoredTurn.id,
        *_PLACE,
        *(getattr(StoredTurn, name) for name in (*_NAMES, *_SPENT, *_OTHERS)),
    )
    .where(StoredTurn.ordinal >= sa.bindparam("next"))
    .limit(sa.bindparam("most"))
)
_places = _with_parses(
    "verdict",
    *_PLACE,
    StoredTurn.raw.is_not(None).label("has_text"),
    StoredTurn.recorded_failure.is_not(None).label("failed"),
    sa.select(TurnContract.state)
    .where(TurnContract.turn_id == StoredTurn.id, TurnContract.state.in_(BROKEN))
    .scalar_subquery()
    .label("broken"),
).execution_options(yield_per=_AT_ONCE_BARE)
_other_traces = (
    sa.select(Parse.turn_id, Parse.trace)
    .where(
        Parse.turn_id.between(sa.bindparam("first"), sa.bindparam("last")),
        Parse.profile != sa.bindparam("home"),
        Parse.profile != OURS,
    )
    .order_by(Parse.id)
)
_content = sa.select(Declaration.content).where(Declaration.id == sa.bindparam("declaration"))
_counted = sa.select(Session.facets, Session.raw_bytes).where(Session.id == sa.bindparam("session"))


class StoredTurns:
    """Reads a session's turns once, in parts, also when it grows at its end meanwhile."""

    def __init__(self, session_id: int, home: str) -> None:
        self.session_id = session_id
        self._home = home
        self._next = 0
        self._last_responses: dict[int | None, int] = {}
        self._declared: dict[int, dict[str, Any]] = {}
        self._failed: set[int] = set()
        """positions of responses with a recorded failure"""

    def read(self, connection: sa.Connection, most: int = _AT_ONCE, *, replayed: bool = False) -> list[PlacedTurn]:
        """At most `most` further turns; fewer only at the end. With `replayed` they have every profile's traces."""
        about = {"session": self.session_id, "home": self._home, "next": self._next, "most": most}
        rows = connection.execute(_next_turns, about).all()
        if not rows:
            return []
        self._next = rows[-1].ordinal + 1
        for number in {row.declaration_id for row in rows} - self._declared.keys() - {None}:
            self._declared[number] = connection.scalars(_content, {"declaration": number}).one()
        other_traces = self._other_traces(connection, rows[0].id, rows[-1].id) if replayed else {}
        return [self._placed(row, tuple(other_traces.get(row.id, ()))) for row in rows]

    def _placed(self, row: sa.Row[*tuple[Any, ...]], other_traces: tuple[Trace, ...]) -> PlacedTurn:
        traces: tuple[Trace, ...] = ()
        if row.original is None:
            stored = [Trace.from_dict(trace) for trace in (row.home, row.ours) if trace is not None]
            if row.home is not None or self._home == UNKNOWN:
                traces = tuple(stored[:1] if self._home == OURS else stored)
            else:
                other_traces = (*stored, *other_traces)
        stop = None if row.stop is None else Stop(row.stop, row.stop_said or "")
        about = {"failure": row.recorded_failure, "stop": stop, "declared": self._declared.get(row.declaration_id)}
        turn = Turn(**about, **{name: row._mapping[name] for name in _SAME})
        raw = None if row.raw is None else row.raw.encode("utf-8", "surrogatepass")
        answers = self._answers(row)
        return PlacedTurn(row.ordinal, row.position, row.original, turn, raw, traces, answers, other_traces)

    def _other_traces(self, connection: sa.Connection, first: int, last: int) -> dict[int, list[Trace]]:
        traces: dict[int, list[Trace]] = {}
        for row in connection.execute(_other_traces, {"first": first, "last": last, "home": self._home}):
            traces.setdefault(row.turn_id, []).append(Trace.from_dict(row.trace))
        return traces

    def _answers(self, row: sa.Row[*tuple[Any, ...]]) -> int | None:
        """What an error answers is not stored; it is found as formats find it.

        That is the last response of the same sounding, else of the session, which then has a recorded failure. What
        repeats an earlier response speaks of that one.
        """
        last = self._last_responses
        if row.kind == "response":
            if row.recorded_failure is not None:
                self._failed.add(row.position)
            last[row.sounding] = last[None] = row.position
        elif row.kind == "error":
            position = last.get(row.sounding, last.get(None))
            return position if position in self._failed else None
        return None


def stored_turns(connection: sa.Connection, session_id: int, home: str) -> Iterator[PlacedTurn]:
    """All turns of a stored session with every profile's traces, a few in memory at a time."""
    reader = StoredTurns(session_id, home)
    while placed := reader.read(connection, replayed=True):
        yield from placed


def fold(connection: sa.Connection, session_id: int, home: str, index: search.Pending | None = None) -> SessionState:
    """The state of a session from all its stored turns; more may come. `index` is flushed where it holds much."""
    state = SessionState.of_nothing(session_id, home, index)
    for placed in stored_turns(connection, session_id, home):
        turn = placed.turn
        state.tally.put(turn.entry, turn.kind, turn.raw is not None, placed.original, placed.position)
        state.see(placed)
        if turn.failure is not None:
            state.fail(placed.ordinal, turn.failure)
        if index is not None:
            index.flush_where_much(connection)
    return state


def restored(connection: sa.Connection, session_id: int, home: str) -> SessionState:
    """The state of a session as it was stored: what `fold` makes of it, in a small part of the time.

    The tally is made of verdicts, without texts and traces. The rules look at the session when it is quiet.
    """
    tally = Tally()
    for row in connection.execute(_places, {"session": session_id, "home": home}):
        tally.put(row.entry, row.kind, row.has_text, row.original, row.position)
        if (row.ours if home == UNKNOWN else row.home) is not None and row.original is None:
            tally.verdicts(row.ordinal, row.home, row.ours or "none")
        if row.failed:
            tally.fail(row.ordinal)
        if row.broken:
            tally.break_contract(row.ordinal, row.broken)
        tally.saw(row.model if row.kind in MODEL_KINDS else None, row.sent_at)
    counters = connection.execute(_counted, {"session": session_id}).one()
    state = SessionState(session_id, home, tally, Facets.of(counters.facets), counters.raw_bytes)
    state.first_contract = len(tally.positions)
    return state
