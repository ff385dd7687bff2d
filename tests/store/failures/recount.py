"""Failure groups counted by going through all that is stored: what the index must say, whatever happened before."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.parsing import Trace, failure_group, parse
from webapp.store.failures import groups
from webapp.store.models import FailedResponse, Label, Parse, Session, Turn
from webapp.store.sessions.filters import HOME, Filters
from webapp.store.write.failed_responses import recorded_key


@dataclass
class Counted:
    count: int = 0
    sessions: set[int] = field(default_factory=set)
    times: list[datetime] = field(default_factory=list)
    models: Counter[str | None] = field(default_factory=Counter)
    paths: Counter[str] = field(default_factory=Counter)
    labelled: int = 0


def recount(db: orm.Session, under: str = HOME, *, anew: bool = False, model: str | None = None) -> dict[str, Counted]:
    """The groups under a profile; with `anew` every key is made of the texts and traces that are stored."""
    groups_by_key: dict[str, Counted] = defaultdict(Counted)
    labelled = set(db.scalars(sa.select(Label.turn_id)))
    parses: dict[int, dict[str, Any]] = defaultdict(dict)
    columns: list[Any] = [Parse.turn_id, Parse.profile, FailedResponse.group_key, FailedResponse.path]
    if anew:
        columns.append(Parse.trace)
    failed = sa.and_(FailedResponse.turn_id == Parse.turn_id, FailedResponse.under == Parse.profile)
    for stored in db.execute(sa.select(*columns).select_from(Parse).outerjoin(FailedResponse, failed)):
        parses[stored.turn_id][stored.profile] = stored
    query = sa.select(Turn.id, Turn.session_id, Turn.kind, Turn.model, Turn.sent_at, Turn.recorded_failure, Turn.raw)
    query = query.add_columns(Session.home_profile, Session.happened_at, Turn.duplicate_of)
    for turn in db.execute(query.join(Session, Session.id == Turn.session_id).where(Session.deleted_at.is_(None))):
        is_response = turn.kind in ("response", "tool_call") and turn.raw is not None and turn.duplicate_of is None
        if not is_response or (model is not None and turn.model != model):
            continue
        stored_parse = parses[turn.id].get(turn.home_profile if under == HOME else under)
        key, path = (None, None) if stored_parse is None else (stored_parse.group_key, stored_parse.path)
        if under == HOME and turn.home_profile == "unknown":
            key, path = as_json(db, turn.id, turn.raw)
        if anew and stored_parse is not None:
            ours = Trace.from_dict(parses[turn.id]["fencepost"].trace)
            made = failure_group.group(turn.raw, Trace.from_dict(stored_parse.trace), ours)
            assert (None if made is None else made.key) == key, turn.raw
        if key is None and under == HOME and turn.recorded_failure is not None:
            key = recorded_key(turn.recorded_failure)
        if key is not None:
            counted = groups_by_key[key]
            counted.count += 1
            counted.sessions.add(turn.session_id)
            counted.times.append(turn.sent_at or turn.happened_at)
            counted.models[turn.model] += 1
            counted.paths.update([path] if path is not None else [])
            counted.labelled += turn.id in labelled
    return dict(groups_by_key)


def as_json(db: orm.Session, turn_id: int, raw: str) -> tuple[str | None, str | None]:
    """The group of a response whose parser is unknown: `json.loads` fails, and there is JSON in it."""
    stored = db.scalars(sa.select(Parse.trace).where(Parse.turn_id == turn_id, Parse.profile == "fencepost")).one()
    ours = Trace.from_dict(stored)
    made = None if ours.verdict == "none" else failure_group.group(raw, parse(raw, "direct"), ours)
    return (None, None) if made is None else (made.key, made.path)


def check(db: orm.Session, under: str = HOME, *, anew: bool = False, model: str | None = None) -> int:
    """Compare the list with a recount; how many responses failed."""
    db.rollback()
    expected = recount(db, under, anew=anew, model=model)
    page = groups.page(db, Filters(under=under, model=model), limit=500)
    assert {line.key: line.count for line in page.groups} == {key: one.count for key, one in expected.items()}
    for line in page.groups:
        counted = expected[line.key]
        assert line.sessions == len(counted.sessions)
        assert (line.first_seen, line.last_seen) == (min(counted.times), max(counted.times))
        assert all(counted.models[model] == number for model, number in line.models)
        assert len(line.models) + line.more_models == len(counted.models)
        assert sum(count for _, count in line.paths) <= sum(counted.paths.values())
        assert all(counted.paths[path] == count for path, count in line.paths)
        assert line.labelled == counted.labelled
        assert sum(line.series) == line.count
    assert page.count == sum(one.count for one in expected.values())
    return page.count
