"""Failure groups as the API and `fencepost failures --json` write them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from webapp.store.failures.group_detail import GroupDetail
from webapp.store.failures.group_line import Example, GroupLine, Groups, Rate
from webapp.store.failures.neighbours import SameFailure
from webapp.store.failures.scope import Coverage
from webapp.store.models import FailureEvent


def page_dict(page: Groups) -> dict[str, Any]:
    """`{"failures": [groups], "next", "total", "count", "new", …}`; `count` is of responses, `total` of groups."""
    return {
        "failures": [group_dict(line) for line in page.groups],
        "next": page.next,
        "total": page.total,
        "count": page.count,
        "new": page.new,
        "responses": coverage_dict(page.coverage),
        "range": None if page.range is None else [moment.isoformat() for moment in page.range],
        "window": [moment.isoformat() for moment in page.window],
    }


_LINE = (
    *("key", "title", "count", "share", "sessions", "first_seen", "last_seen", "known_since", "series", "models"),
    *("more_models", "tools", "more_tools", "paths", "more_paths", "labelled", "findings", "state", "why", "assignee"),
)
_SAME = ("key", "title", "count", "sessions", "here", "since", "last_seen")


def group_dict(line: GroupLine) -> dict[str, Any]:
    counts = (("model", line.models), ("tool", line.tools), ("path", line.paths))
    return {
        **_fields(line, _LINE),
        **{f"{name}s": [{name: value, "count": count} for value, count in values] for name, values in counts},
        "new": line.is_new,
        "new_models": line.new_models,
        "growth": round(line.growth, 3),
        "merged": line.merged,
        "spent": line.spent,
        "example": example_dict(line.example),
    }


def detail_dict(detail: GroupDetail) -> dict[str, Any]:
    """A group with its examples, rates, readers and history; "group" is null where the filters leave none of it."""
    return {
        "key": detail.key,
        "asked": detail.asked,
        "title": detail.title,
        "group": None if detail.line is None else group_dict(detail.line),
        "spent": None if detail.line is None else detail.line.spent,
        "responses": coverage_dict(detail.coverage),
        "examples": [
            {**(example_dict(item.at) or {}), **_fields(item, ("when", "model", "path", "tokens"))}
            for item in detail.examples
        ],
        "models": [rate_dict(item) for item in detail.models],
        "versions": [rate_dict(item) for item in detail.versions],
        "before": None if detail.before is None else rate_dict(detail.before),
        "after": None if detail.after is None else rate_dict(detail.after),
        "tokens": [{"tokens": tokens, "count": count} for tokens, count in detail.tokens],
        "readers": [
            {"profile": item.profile, "read": item.read if item.run else None, "run": item.run, "of": detail.looked_at}
            for item in detail.readers
        ],
        "merged": detail.merged,
        "history": [_row(event) for event in detail.history],
    }


def same_dict(same: SameFailure) -> dict[str, Any]:
    beside = {"earlier": example_dict(same.earlier), "later": example_dict(same.later)}
    return _fields(same, _SAME) | beside


def rate_dict(rate: Rate) -> dict[str, Any]:
    return _fields(rate, ("name", "count", "of", "share", "low", "high"))


def coverage_dict(coverage: Coverage) -> dict[str, Any]:
    """How many responses there are; null is "not counted under these filters", never nothing."""
    return _fields(coverage, ("run", "of", "not_run"))


def example_dict(example: Example | None) -> dict[str, Any] | None:
    if example is None:
        return None
    return {"session": example.external_id, "session_key": example.session, "position": example.position}


def _row(statement: FailureEvent) -> dict[str, Any]:
    names = (column.name for column in statement.__table__.columns)
    return {"group" if name == "group_key" else name: _plain(getattr(statement, name)) for name in names}


def _fields(holder: object, names: Iterable[str]) -> dict[str, Any]:
    """These attributes; times as text, and tuples as lists."""
    return {name: _plain(getattr(holder, name)) for name in names}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value
