"""Failure groups as the API and `fencepost failures --json` write them."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

from webapp.store.failures.events import Event
from webapp.store.failures.group_detail import GroupDetail
from webapp.store.failures.group_line import Example, GroupLine, Groups
from webapp.store.failures.neighbours import SameFailure
from webapp.store.failures.overlay import Change
from webapp.store.failures.rates import Rate
from webapp.store.failures.scope import Coverage


def page_dict(page: Groups) -> dict[str, Any]:
    """`{"failures": [groups], "next", "total", "count", "new", …}`; `count` is of responses, `total` of groups."""
    return {
        "failures": [group_dict(line) for line in page.groups],
        "next": page.next,
        "total": page.total,
        "count": page.count,
        "new": page.new,
        "former": page.former,
        "responses": coverage_dict(page.coverage),
        "range": None if page.range is None else [time(moment) for moment in page.range],
        "window": [time(moment) for moment in page.window],
    }


def group_dict(line: GroupLine) -> dict[str, Any]:
    return {
        "key": line.key,
        "title": line.title,
        "count": line.count,
        "share": line.share,
        "sessions": line.sessions,
        "first_seen": time(line.first_seen),
        "last_seen": time(line.last_seen),
        "known_since": time(line.known_since),
        "series": list(line.series),
        "models": [{"model": name, "count": count} for name, count in line.models],
        "more_models": line.more_models,
        "tools": [{"tool": name, "count": count} for name, count in line.tools],
        "more_tools": line.more_tools,
        "paths": [{"path": name, "count": count} for name, count in line.paths],
        "more_paths": line.more_paths,
        "labelled": line.labelled,
        "findings": line.findings,
        "state": line.state,
        "why": line.why,
        "assignee": line.assignee,
        "new": line.is_new,
        "new_models": line.new_models,
        "growth": round(line.growth, 3),
        "merged": line.merged,
        "algorithm": line.algorithm,
        "example": example_dict(line.example),
    }


def detail_dict(detail: GroupDetail) -> dict[str, Any]:
    """A group with its examples, rates, readers and history; "group" is null where the filters leave none of it."""
    return {
        "key": detail.key,
        "asked": detail.asked,
        "title": detail.title,
        "group": None if detail.line is None else group_dict(detail.line),
        "responses": coverage_dict(detail.coverage),
        "examples": [
            {
                **(example_dict(item.at) or {}),
                "when": time(item.when),
                "model": item.model,
                "path": item.path,
                "tokens": item.tokens,
            }
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
        "changes": [_dict(change) for change in detail.changes],
        "history": [_dict(event) for event in detail.history],
        "former": [{"key": key, "count": count} for key, count in detail.former],
    }


def same_dict(same: SameFailure) -> dict[str, Any]:
    return {
        "key": same.key,
        "title": same.title,
        "count": same.count,
        "sessions": same.sessions,
        "here": same.here,
        "since": time(same.since),
        "last_seen": time(same.last_seen),
        "earlier": example_dict(same.earlier),
        "later": example_dict(same.later),
    }


def rate_dict(rate: Rate) -> dict[str, Any]:
    return {
        "name": rate.name,
        "count": rate.count,
        "of": rate.of,
        "share": rate.share,
        "low": rate.low,
        "high": rate.high,
    }


def coverage_dict(coverage: Coverage) -> dict[str, Any]:
    """How many responses there are; null is "not counted under these filters", never nothing."""
    return {"run": coverage.run, "of": coverage.of, "not_run": coverage.not_run}


def example_dict(example: Example | None) -> dict[str, Any] | None:
    if example is None:
        return None
    return {"session": example.external_id, "session_key": example.session, "position": example.position}


def time(moment: datetime) -> str:
    return moment.isoformat()


def _dict(statement: Change | Event) -> dict[str, Any]:
    return {name: time(value) if isinstance(value, datetime) else value for name, value in asdict(statement).items()}
