"""What templates call: names, groups and sentences of turns and sessions."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import groupby
from typing import Any

from flask import Flask, current_app, request, url_for

from webapp import jsontext, paths
from webapp.capture import specs
from webapp.contracts import BROKEN, STATES
from webapp.findings import about_rule, reason, rules
from webapp.parsing import profiles, words
from webapp.store.sessions.filters import MORE_THAN, SHOWN
from webapp.store.sessions.sessions import shape_of
from webapp.visible import line_runs, visible
from webapp.web import timeline
from webapp.web.labels.label_form import expects_words
from webapp.web.links import dump_url, ident, session_url, turn_url
from webapp.web.sessions import strips

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
    values: dict[str, Any] = {name: value for name, value in window().items() if value}
    return [
        (url_for(endpoint, **values), name, blueprint in blueprints)
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
    names = [name for name in profiles() if specs.looks_like_one(name)]
    return list(dict.fromkeys(("direct", "fencepost", *names, *filter(None, [request.args.get("under", "")]))))


SOURCE_LIMIT = 20_000
LIST_PAGES = ("sessions.index", "responses.index", "failures.index")
NO_FILTERS = ("q", "after", "limit", "more")
"""what else stands in a list's query string"""


def init_app(app: Flask) -> None:
    helpers = (
        *(nav, window, recent, moment, parser_names),
        *(asset, kept_filters, findings_of, rule_class, about_rule, reason),
        *(ident, session_url, turn_url, dump_url, turn_name, grouped_turns, query_of, source_text, line_runs),
        *(strips.binned, strips.marks, strips.bin_marks, strips.failures, strips.shade, strips.cell_words, strips.told),
        *(session_words, words.wording, words.placed_flags, verdict_name, verdict_help, expects_words, failure_words),
    )
    app.jinja_env.globals.update({helper.__name__: helper for helper in helpers}, SHOWN=SHOWN, MORE_THAN=MORE_THAN)


def asset(name: str) -> str:
    """The URL of a static file, with its content's hash so that a browser may keep it for ever."""
    return url_for("static", filename=name, v=_digest(name))


def kept_filters() -> list[tuple[str, str]]:
    """The list's filters that a search keeps: on a list page those of its address, elsewhere none."""
    if request.endpoint not in LIST_PAGES:
        return []
    return [(name, value) for name, value in request.args.items(multi=True) if name not in NO_FILTERS and value]


def findings_of(session: Any) -> dict[str, int]:
    """How many findings of each rule a session has, the gravest first."""
    order = list(rules())
    return dict(
        sorted(session.findings.items(), key=lambda item: order.index(item[0]) if item[0] in order else len(order))
    )


@cache
def rule_class(name: str) -> str:
    """The class of a finding's badge, by how grave its rule is."""
    rule = rules().get(name)
    return {"high": "bad", "medium": "edit", "low": ""}[rule.severity] if rule else ""


@cache
def _digest(name: str) -> str:
    return hashlib.sha256((paths.resource("static") / name).read_bytes()).hexdigest()[:10]


def turn_name(turn: Any) -> str:
    """`agent`, `tool result`, `validation error` …: who speaks, else what kind of turn it is."""
    kind = words.KINDS.get(turn.kind, turn.kind)
    if turn.kind == "response":
        return visible(turn.agent or turn.role or "agent")
    if turn.agent and turn.kind in ("tool_call", "tool_result"):
        return f"{kind} · {visible(turn.agent)}"
    role = (turn.role or "").replace("_", " ")
    return f"{kind} · {visible(role)}" if role and role not in kind and kind not in role else kind


def grouped_turns(lines: Sequence[Any]) -> list[tuple[str, list[Any]]]:
    """Turns in order, grouped by phase and branch, or by round where there is neither."""
    groups = groupby(zip(timeline.places(lines), lines, strict=True), key=lambda placed: placed[0])
    names = (((title, "" if branch is None else f"branch {branch}"), group) for (title, branch), group in groups)
    return [(" · ".join(filter(None, name)), [turn for _, turn in group]) for name, group in names]


def session_words(session: Any) -> str:
    return words.session_sentence(
        session.response_count,
        session.failed_count,
        session.rescued_count,
        words.called(session.home_profile),
        shape=shape_of(session),
    )


def verdict_name(verdict: str) -> str:
    """A verdict as pages call it: `no JSON found` for none."""
    return words.VERDICT_NAMES.get(verdict, verdict)


def verdict_help(verdict: str) -> str:
    """What a verdict means, as the legend of the marks says it."""
    return words.VERDICTS[verdict]


def failure_words(turn: Any, session: Any) -> str:
    """Why a turn counts as failed, in production's own words where the dump has them."""
    rescued = "; Fencepost can read it" if turn.rescued else ""
    if turn.recorded_failure:
        return f"{visible(turn.recorded_failure[:200])}{rescued}".replace("``", "")
    if turn.contract in BROKEN and turn.home != "failed":
        return f"it {STATES[turn.contract]}{rescued}"
    if session.home_profile == "unknown":
        return f"`json.loads` could not read it, and its parser is unknown{rescued}"
    return f"`{words.called(session.home_profile)}` could not read it{rescued}"


def query_of(active: dict[str, Any]) -> dict[str, Any]:
    """Active filters as a query string's values."""
    return {name: 1 if value is True else value for name, value in active.items()}


def source_text(turn: Any) -> str:
    """The entry as it came, indented; the raw text's own place says so instead of repeating it."""
    source = turn.source
    if turn.raw_at and isinstance(source, dict):
        source = {key: "… the raw text" if [key] == list(turn.raw_at) else value for key, value in source.items()}
    text = jsontext.pretty(source)
    more = len(text) - SOURCE_LIMIT
    return text if more <= 0 else f"{text[:SOURCE_LIMIT]}\n… {more:,} characters more"
