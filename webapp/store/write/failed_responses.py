"""The narrow rows that failure groups are asked of: one for each failed response under each profile, and under home."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import parsing
from webapp.contracts import BROKEN
from webapp.parsing import failure_group, stored_trace
from webapp.parsing.failure_group import VERSION
from webapp.store.db.ids import batched, short
from webapp.store.db.types import microseconds
from webapp.store.models import FailedResponse, Parse, Session, Turn, TurnContract, is_response
from webapp.store.write.facets import kind_of, tools_of
from webapp.store.write.parser import ALL_THE_SAME, OURS, READ_AS, UNKNOWN

HOME = "home"
"""in place of a profile's name: each session's home profile, `json.loads` where that is unknown, or what its dump
records of a response"""
_AT_ONCE = 200
_INDEX = re.compile(r"\[\d+\]")
_LOOKED_BACK = 20
"""turns before a response among which one with a time is looked for"""
_before = orm.aliased(Turn)
_sent_before = (
    sa.select(_before.sent_at)
    .where(_before.session_id == Turn.session_id, _before.sent_at.is_not(None))
    .where(_before.position < Turn.position, _before.position >= Turn.position - _LOOKED_BACK)
    .order_by(_before.position.desc())
    .limit(1)
    .scalar_subquery()
)
_of_turn = (
    *(Turn.id, Turn.session_id, Turn.model, Turn.agent, Turn.phase, Turn.kind, Turn.sent_at, Turn.tool_calls),
    *(Turn.recorded_failure, Session.home_profile, Session.happened_at, Turn.tokens_in, Turn.tokens_out, Turn.cost),
    sa.case((Turn.sent_at.is_not(None), _sent_before)).label("sent_before"),
)
_of_parse = (Parse.profile, Parse.version, Parse.failure_group, Parse.failure_path, Parse.failure_tokens)
_here = (Turn.session_id.in_(sa.bindparam("ids", expanding=True)), Session.deleted_at.is_(None))
_parsed = (
    sa.select(*_of_turn, *_of_parse)
    .join(Session, Session.id == Turn.session_id)
    .join(Parse, sa.and_(Parse.turn_id == Turn.id, Parse.failure_group.is_not(None)))
    .where(*_here)
)
_recorded = (
    sa.select(*_of_turn)
    .join(Session, Session.id == Turn.session_id)
    .where(*_here, is_response, Turn.recorded_failure.is_not(None))
)
_assumed = (
    sa.select(*_of_turn, Turn.raw, Parse.trace)
    .join(Session, Session.id == Turn.session_id)
    .join(Parse, sa.and_(Parse.turn_id == Turn.id, Parse.profile == OURS))
    .where(*_here, is_response, Session.home_profile == UNKNOWN, Parse.verdict.not_in(ALL_THE_SAME))
)


def recorded_key(text: str) -> str:
    """The group of a response that its parser read and its dump says failed: by the kind of that failure."""
    return short(f"{VERSION}|recorded in the dump: {kind_of(text).replace('|', ' ')}", 255)


_broken = (
    sa.select(*_of_turn, TurnContract.detail)
    .join(Session, Session.id == Turn.session_id)
    .join(TurnContract, sa.and_(TurnContract.turn_id == Turn.id, TurnContract.state.in_(BROKEN)))
    .where(*_here)
)


def contract_key(contract: Mapping[str, Any]) -> str:
    """The group of a response that breaks its contract: by tool, keyword and path of its first mismatch, no value."""
    first = next(iter(contract["mismatches"]), {"keyword": "", "path": "$"})
    tool, path = contract["tool"] or "the answer", _INDEX.sub("[]", first["path"])
    what = {"invalid_json": "arguments are no JSON" if contract["tool"] else "no JSON", "unknown_name": "unknown tool"}
    said = what.get(contract["state"]) or f"{first['keyword']} at {path}"
    return short(f"{VERSION}|broken contract: {tool.replace('|', ' ')}: {said.replace('|', ' ')}", 255)


def renew(connection: sa.Connection, session_ids: Iterable[int]) -> None:
    """Make all rows of these sessions anew, in place of those that they had; the caller commits."""
    for part in batched(sorted(set(session_ids)), _AT_ONCE):
        connection.execute(sa.delete(FailedResponse).where(FailedResponse.session_id.in_(part)))
        if rows := list(_rows(connection, part)):
            connection.execute(sa.insert(FailedResponse), rows)


def _rows(connection: sa.Connection, ids: list[int]) -> Iterator[dict[str, Any]]:
    failed: set[int] = set()
    for row in connection.execute(_parsed, {"ids": ids}):
        about = {"group_key": row.failure_group, "path": row.failure_path, "tokens": row.failure_tokens}
        about |= {"profile": row.profile, "version": row.version}
        yield _of(row) | about | {"under": row.profile}
        if row.profile == row.home_profile != UNKNOWN:
            failed.add(row.id)
            yield _of(row) | about | {"under": HOME}
    for row in connection.execute(_broken, {"ids": ids}):
        if row.id not in failed:
            failed.add(row.id)
            path = next((one["path"] for one in row.detail["mismatches"]), "$")
            about = {"group_key": contract_key(row.detail), "path": short(path, 160), "tokens": None}
            yield _of(row) | about | {"profile": "", "version": "", "under": HOME}
    for row in connection.execute(_assumed, {"ids": ids}):
        if row.id not in failed:
            failed.add(row.id)
            yield _of(row) | _as_json(row) | {"under": HOME}
    for row in connection.execute(_recorded, {"ids": ids}):
        if row.id not in failed:
            about = {"group_key": recorded_key(row.recorded_failure), "path": None, "tokens": None}
            yield _of(row) | about | {"profile": "", "version": "", "under": HOME}


def _as_json(row: Any) -> dict[str, Any]:
    """The group of a response whose parser is unknown, as `json.loads` fails on it."""
    failed = parsing.parse(row.raw, READ_AS)
    group = failure_group.group(row.raw, failed, stored_trace.read(row.raw, row.trace))
    key, path, tokens = (f"{VERSION}|json.loads fails", None, None) if group is None else (group.key, *group[2:])
    return {"group_key": key, "path": path, "tokens": tokens, "profile": READ_AS, "version": failed.version}


def _of(row: Any) -> dict[str, Any]:
    """What a response has under any profile; when it was sent, else when its session was."""
    tools = list(dict.fromkeys(tools_of(row))) if row.tool_calls or row.kind == "tool_call" else []
    names = {"model": row.model, "agent": row.agent, "phase": row.phase, "tools": tools or None}
    waited = None if row.sent_before is None else max(0.0, (row.sent_at - row.sent_before).total_seconds())
    names |= {"tokens_in": row.tokens_in, "tokens_out": row.tokens_out, "cost": row.cost, "seconds": waited}
    at = microseconds(row.sent_at or row.happened_at)
    return {"turn_id": row.id, "session_id": row.session_id, "at": at, **names}
