"""How the responses of sessions keep what their requests declare, made anew of what is stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

import sqlalchemy as sa

from webapp.contracts import BROKEN, Contract
from webapp.contracts.turns import Holder
from webapp.store.models import MODEL_KINDS, TURNS_A_SESSION, Declaration, Turn, TurnContract

BROKEN_AS_ONE = "broken"
"""the value that a session has beside the states of its responses, where one of them is broken"""
_AT_ONCE = 500
_is_asked = sa.or_(Turn.declaration_id.is_not(None), Turn.kind == "tool_call")
_turns = (
    sa.select(
        *(Turn.id, Turn.session_id, Turn.entry, Turn.kind, Turn.agent, Turn.stop, Turn.stop_said, Turn.arguments),
        *(Turn.declaration_id, sa.case((_is_asked, Turn.raw)).label("raw")),
    )
    .where(Turn.session_id == sa.bindparam("session"), Turn.kind.in_(MODEL_KINDS), Turn.duplicate_of.is_(None))
    .order_by(Turn.id)
)
_content = sa.select(Declaration.content).where(Declaration.id == sa.bindparam("declaration"))


class StoredTurn(NamedTuple):
    """What is asked of a turn: see `contracts.turns.ModelTurn`."""

    kind: str
    raw: str | None
    agent: str | None
    declared: dict[str, Any] | None
    stop: tuple[str, str] | None
    arguments: str | None


def renew(connection: sa.Connection, session_ids: Iterable[int]) -> dict[int, Counter[str]]:
    """Make the contracts of these sessions anew; how many responses of each have which state. The caller commits."""
    return {session_id: _renew(connection, session_id) for session_id in sorted(set(session_ids))}


def _renew(connection: sa.Connection, session_id: int) -> Counter[str]:
    first = session_id * TURNS_A_SESSION
    of_session = TurnContract.turn_id.between(first, first + TURNS_A_SESSION - 1)
    connection.execute(sa.delete(TurnContract).where(of_session))
    counts: Counter[str] = Counter()
    rows: list[dict[str, Any]] = []
    for turn_id, contract in _held(connection, session_id):
        counts[contract.state] += 1
        counts[BROKEN_AS_ONE] += contract.state in BROKEN
        if contract.state != "not_declared":
            detail = None if contract == Contract("kept", contract.tool, contract.source) else contract.as_dict()
            rows.append({"turn_id": turn_id, "state": contract.state, "detail": detail})
    for at in range(0, len(rows), _AT_ONCE):
        connection.execute(sa.insert(TurnContract), rows[at : at + _AT_ONCE])
    return +counts


def _held(connection: sa.Connection, session_id: int) -> Iterator[tuple[int, Contract]]:
    holder, contents = Holder(), dict[int, dict[str, Any]]()
    found = connection.execute(_turns, {"session": session_id}).all()
    for number in {row.declaration_id for row in found} - {None}:
        contents[number] = connection.scalars(_content, {"declaration": number}).one()
    for _, answer in groupby(found, key=lambda row: row.entry):
        rows = list(answer)
        contracts = holder.answer([_stored(row, contents) for row in rows])
        yield from ((row.id, contract) for row, contract in zip(rows, contracts, strict=True) if contract is not None)


def _stored(row: Any, contents: dict[int, dict[str, Any]]) -> StoredTurn:
    stop = None if row.stop is None else (row.stop, row.stop_said)
    return StoredTurn(row.kind, row.raw, row.agent, contents.get(row.declaration_id), stop, row.arguments)
