"""Reads failed responses for the index: all of them under a profile, or those of some sessions."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

import sqlalchemy as sa

from webapp.parsing.failure_group import VERSION
from webapp.store.db.short_text import short
from webapp.store.index.bit_sliced_index import Bits
from webapp.store.index.session_reader import microseconds
from webapp.store.index.state import State
from webapp.store.models import TURNS_A_SESSION, Label, Parse, Turn, is_response, turns_of_any
from webapp.store.sessions.filters import HOME
from webapp.store.write.facets import kind_of, tools_of
from webapp.store.write.home import UNKNOWN

_AT_ONCE = 256
_TURN = (Turn.id, Turn.model, Turn.agent, Turn.phase, Turn.kind, Turn.sent_at, Turn.tool_calls)
_PARSE = (Parse.profile, Parse.version, Parse.failure_group, Parse.failure_path, Parse.failure_tokens)
_failed = (
    sa.select(*_TURN, *_PARSE)
    .join(Turn, Turn.id == Parse.turn_id)
    .where(Parse.profile == sa.bindparam("profile"), Parse.failure_group.is_not(None))
)
_recorded = sa.select(*_TURN, Turn.recorded_failure).where(is_response, Turn.recorded_failure.is_not(None))


class StoredFailure(NamedTuple):
    """One failed response. `when` as `session_reader.microseconds` has it: when it was sent, else its session's time.

    `profile` and `version` are of the parse that failed; "" where the dump alone says that the response failed.
    """

    turn_id: int
    when: int
    key: str
    model: str | None
    agent: str | None
    phase: str | None
    tools: tuple[str, ...]
    path: str | None
    tokens: str | None
    profile: str
    version: str
    labelled: bool
    findings: tuple[str, ...]
    """the rules that noticed something in its session"""

    @property
    def place(self) -> tuple[int, int]:
        """Where it stands in the order of time."""
        return self.when, self.turn_id


def everything(connection: sa.Connection, state: State, under: str) -> list[StoredFailure]:
    """Every failed response of the sessions in `state`, looked at `under` a profile, or "home"."""
    return list(_read(connection, state, under, None))


def of_sessions(connection: sa.Connection, state: State, under: str, session_ids: Iterable[int]) -> list[StoredFailure]:
    """Those of some sessions."""
    ids = sorted(session_ids)
    failures: list[StoredFailure] = []
    for at in range(0, len(ids), _AT_ONCE):
        failures += _read(connection, state, under, ids[at : at + _AT_ONCE])
    return failures


def _read(connection: sa.Connection, state: State, under: str, ids: Sequence[int] | None) -> Iterator[StoredFailure]:
    homes, whens, alive = state.columns("home"), state.numbers["when"].values, state.alive
    looked_at = alive if ids is None else state.slots(ids)
    names = sorted(name for name in homes if name != UNKNOWN and homes[name].sessions(looked_at))
    findings = cache(lambda slot: tuple(rule for rule, column in state.columns("finding").items() if column.has(slot)))
    labelled = _labelled(connection, ids)
    failed: set[int] = set()

    def failure(row: Any, slot: int, key: str, parse: tuple[Any, ...]) -> StoredFailure:
        sent: datetime | None = row.sent_at
        when = whens[slot] if sent is None else microseconds(sent)
        tools = tuple(dict.fromkeys(tools_of(row))) if row.tool_calls or row.kind == "tool_call" else ()
        written_by = _shared(row.model), _shared(row.agent), _shared(row.phase)
        about = (tools, *map(_shared, parse), row.id in labelled, findings(slot))
        return StoredFailure(row.id, when, sys.intern(key), *written_by, *about)

    for name in names if under == HOME else [under]:
        query = _failed if ids is None else _failed.where(turns_of_any(Parse.turn_id, ids))
        for row in connection.execute(query, {"profile": name}):
            slot = _slot(state, alive, row.id)
            if slot is not None and (under != HOME or homes[name].has(slot)):
                failed.add(row.id)
                parse = (row.failure_path, row.failure_tokens, row.profile, row.version)
                yield failure(row, slot, row.failure_group, parse)
    if under == HOME:
        query = _recorded if ids is None else _recorded.where(turns_of_any(Turn.id, ids))
        for row in connection.execute(query):
            slot = _slot(state, alive, row.id)
            if slot is not None and row.id not in failed:
                yield failure(row, slot, recorded_key(row.recorded_failure), (None, None, "", ""))


def _shared(text: Any) -> Any:
    """The one copy of a text, or None: many failures have the same, and all stay in memory."""
    return None if text is None else sys.intern(text)


def recorded_key(text: str) -> str:
    """The group of a response that its parser read and its dump says failed: by the kind of that failure."""
    return short(f"{VERSION}|recorded in the dump: {kind_of(text).replace('|', ' ')}", 255)


def _slot(state: State, alive: Bits, turn_id: int) -> int | None:
    """Where a turn's session stands; None where it is deleted."""
    slot = state.slot(turn_id // TURNS_A_SESSION)
    return slot if slot is not None and slot in alive else None


def _labelled(connection: sa.Connection, ids: Sequence[int] | None) -> set[int]:
    query = sa.select(Label.turn_id).distinct()
    return set(connection.scalars(query if ids is None else query.where(turns_of_any(Label.turn_id, ids))))
