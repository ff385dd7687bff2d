"""The time window and the parser of the header: they stand in the address, and every room keeps them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from flask import Flask, current_app, request, url_for

from webapp.capture import specs
from webapp.parsing import profiles

ROOMS = (
    ("failures.index", "Incidents", ("failures", "failure_actions")),
    ("sessions.index", "Responses", ("sessions", "responses", "turns", "turn_diff", "selection")),
    ("labels.index", "Labels", ("labels", "exports")),
    ("profiles.index", "Parsers", ("profiles", "homes", "compare", "runs")),
    ("dumps.index", "Add logs", ("dumps", "mappings", "export_jobs", "tasks", "playground", "machine_logs")),
)
"""the main navigation: endpoint, name, and the blueprints whose pages stand in that room"""
WINDOW = ("since", "until", "under")
RECENT = (
    ("last hour", timedelta(hours=1)),
    ("24 hours", timedelta(days=1)),
    ("7 days", timedelta(days=7)),
    ("30 days", timedelta(days=30)),
)


def nav() -> list[tuple[str, str, bool]]:
    """Address (with the window), name, and whether the page stands in it, of each room that this app has."""
    blueprint = (request.endpoint or "").split(".")[0]
    kept: dict[str, Any] = {name: value for name, value in window().items() if value}
    return [
        (url_for(endpoint, **kept), name, blueprint in blueprints)
        for endpoint, name, blueprints in ROOMS
        if endpoint in current_app.view_functions
    ]


def window() -> dict[str, str]:
    """The time window and the parser of the address, "" for what is not set."""
    return {name: request.args.get(name, "") for name in WINDOW}


def recent() -> list[tuple[str, str]]:
    """Quick windows up to now and all time: words, and what `since` is for them, "" for all; an hour to the minute, a
    day and longer from a day on, so that the address stays the same for it."""
    now = datetime.now(UTC)
    forms = ("%Y-%m-%dT%H:%M", "%Y-%m-%d")
    return [(words, f"{now - back:{forms[back >= timedelta(days=1)]}}") for words, back in RECENT] + [("all time", "")]


def moment(text: str | None, last: str = "00:00") -> str:
    """A time filter as a `datetime-local` field takes it; a day alone gets `last` as its time."""
    return "" if not text else f"{text}T{last}" if len(text) == len("2026-01-31") else text.replace(" ", "T")[:16]


def parser_names() -> list[str]:
    """What the header offers to read responses as: the usual ones, people's own, and what the address names."""
    own = [name for name in profiles() if specs.looks_like_one(name)]
    return list(dict.fromkeys(("direct", "fencepost", *own, *filter(None, [request.args.get("under", "")]))))


def init_app(app: Flask) -> None:
    app.jinja_env.globals.update({helper.__name__: helper for helper in (nav, window, recent, moment, parser_names)})
