"""What stands beside a response's text: how it keeps what its request declares, and why the model stopped, in words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.contracts.contract import Contract
from webapp.contracts.held import fitted
from webapp.dumps.linked_turns import call_id
from webapp.dumps.messages.metadata import stop
from webapp.store.models import MODEL_KINDS, Declaration, FacetValue, Session, SessionFacet, Turn, TurnContract

_NEWEST, _LONGEST, _MOST = 30, 1_000, 2_000
"""sessions in which calls of the same tool are looked for, turns of one of them, and calls and results, at most"""
_NOTHING = object()
_LEAST = 20
"""calls that worked, before anything is said of another"""
_KINDS = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
_sessions = (
    sa.select(SessionFacet.session_id)
    .join(FacetValue, FacetValue.id == SessionFacet.value_id)
    .join(Session, Session.id == SessionFacet.session_id)
    .where(FacetValue.name == "tool", FacetValue.value == sa.bindparam("tool"), Session.turn_count <= _LONGEST)
    .where(Session.deleted_at.is_(None))
    .order_by(SessionFacet.session_id.desc())
    .limit(_NEWEST)
)
_calls = (
    sa.select(
        *(Turn.id, Turn.session_id, Turn.kind, Turn.raw, Turn.tool_calls, Turn.parent),
        sa.or_(Turn.is_error.is_(True), Turn.recorded_failure.is_not(None)).label("failed"),
    )
    .where(
        Turn.session_id.in_(sa.bindparam("sessions", expanding=True)),
        Turn.agent == sa.bindparam("tool"),
        Turn.kind.in_(("tool_call", "tool_result")),
    )
    .order_by(Turn.session_id.desc(), Turn.position.desc())
    .limit(_MOST)
)


def contract_of(db: orm.Session, turn: Turn) -> dict[str, Any] | None:
    """The contract as the API gives it; None of what no model wrote."""
    if turn.kind not in MODEL_KINDS:
        return None
    tool = turn.agent if turn.kind == "tool_call" else None
    row = db.get(TurnContract, turn.id)
    if row is None:
        why = "the log does not say what its request declares"
        if turn.declaration_id is not None:
            why = f"its request {'names no tools' if turn.kind == 'tool_call' else 'asks for no form of the answer'}"
        if turn.arguments == "provider":
            why = "the provider runs this tool, and declares it"
        contract = Contract("not_declared", tool, reason=why)
        return _like_others(contract, turn.raw or "", _worked(db, turn) if tool else ()).as_dict()
    if row.detail is None:
        return Contract("kept", tool, "request").as_dict()
    return row.detail


def _worked(db: orm.Session, turn: Turn) -> Iterator[str]:
    """The arguments of other calls of the same tool that were answered, and not with an error that the log tells."""
    sessions = db.scalars(_sessions, {"tool": turn.agent}).all()
    rows = db.execute(_calls, {"tool": turn.agent, "sessions": sessions}).all()
    answered = {(row.session_id, row.parent) for row in rows if row.kind == "tool_result" and not row.failed}
    for row in rows:
        is_other = row.kind == "tool_call" and row.id != turn.id and not row.failed and row.raw is not None
        if is_other and (row.session_id, call_id(row.tool_calls)) in answered:
            yield row.raw


def declared_of(db: orm.Session, turn: Turn) -> dict[str, Any] | None:
    """What the request of a turn declares; None where the log does not say."""
    declaration = None if turn.declaration_id is None else db.get(Declaration, turn.declaration_id)
    return None if declaration is None else declaration.content


def _like_others(contract: Contract, raw: str, worked: Iterable[str]) -> Contract:
    """A `not_declared` contract with what is other in `raw` than in the arguments that `worked`: it is never broken."""
    value, examples = _read(raw), [example for example in map(_read, worked) if isinstance(example, dict)]
    if contract.state != "not_declared" or not isinstance(value, dict) or len(examples) < _LEAST:
        return contract
    fit = fitted(raw, value, json.dumps(_schema(examples)), Contract("kept", contract.tool, "learned"))
    if fit.state == "not_checked":
        return contract
    words = "differs from" if fit.is_broken else "has the keys and types of"
    return replace(fit, state="not_declared", reason=f"it {words} {len(examples):,} calls that worked")


def _schema(values: list[dict[str, Any]]) -> dict[str, Any]:
    """The keys that all have, and the types of each key's values."""
    kinds: dict[str, set[str]] = {}
    for value in values:
        for key, inner in value.items():
            kinds.setdefault(key, set()).add(_KINDS.get(type(inner), "null"))
    required = [key for key in values[0] if all(key in value for value in values)]
    return {"required": required, "properties": {key: {"type": sorted(types)} for key, types in kinds.items()}}


def _read(raw: str | None) -> Any:
    """The value of a text; `_NOTHING` where it is no JSON."""
    try:
        return json.loads(raw or "")
    except (ValueError, RecursionError):
        return _NOTHING


WORDS = {
    "complete": "the model ended",
    "tool_call": "the model called a tool",
    "length": "cut off at the token limit",
    "filtered": "stopped by a content filter",
    "refused": "the model refused",
    "malformed": "the provider could not read the model's call",
    "context": "the context is full",
    "paused": "paused, to go on in a further request",
    "dropped": "the connection ended before the answer did",
    "error": "ended by an error",
}
"""of each reason"""


def stop_words(db: orm.Session, turn: Turn) -> str | None:
    """A clause about why the model stopped, of what one wrote."""
    if turn.kind not in MODEL_KINDS:
        return None
    if turn.stop is None:
        return "no stop reason in this log"
    if turn.stop == "tool_call" and turn.kind == "response" and not _has_call(db, turn):
        return f"the model stopped for a call (`{turn.stop_said}`), and there is no call"
    if turn.stop == "other":
        return f"the log says why the model stopped by a word that is not known: `{turn.stop_said}`"
    words = WORDS[turn.stop]
    if turn.stop == "length" and (reported := stop(turn.stop_said)) and reported.reason != "length":
        cap = f"its cap, {turn.tokens_out:,}" if turn.tokens_out else "its cap"
        return f"the answer has exactly as many tokens as {cap}, and the log says `{reported.said}`"
    if turn.stop == "length" and _read(turn.raw) is not _NOTHING:
        return f"{words} (`{turn.stop_said}`), and complete by chance"
    return f"{words} (`{turn.stop_said}`)"


def _has_call(db: orm.Session, turn: Turn) -> bool:
    of_answer = (Turn.session_id == turn.session_id, Turn.entry == turn.entry, Turn.kind == "tool_call")
    return db.scalar(sa.select(sa.exists().where(*of_answer))) is True
