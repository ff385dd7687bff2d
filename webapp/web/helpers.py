"""What templates call: names, groups and sentences of turns and sessions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from typing import Any

from flask import Flask, request, url_for

from webapp import jsontext, paths
from webapp.contracts import BROKEN, STATES
from webapp.findings import about_rule, reason, rules
from webapp.parsing import words
from webapp.store.sessions.columns import MORE_THAN, SHOWN
from webapp.store.sessions.sessions import shape_of
from webapp.visible import line_runs, visible
from webapp.web import time_window
from webapp.web.labels.label_form import expects_words
from webapp.web.links import dump_url, ident, session_url, turn_url
from webapp.web.sessions import strips

SOURCE_LIMIT = 20_000
LIST_PAGES = ("sessions.index", "responses.index", "failures.index")
NO_FILTERS = ("q", "after", "limit", "more")
"""what else stands in a list's query string"""


def init_app(app: Flask) -> None:
    helpers = (
        *(asset, kept_filters, findings_of, rule_class, about_rule, reason),
        *(ident, session_url, turn_url, dump_url, turn_name, grouped_turns, query_of, source_text, line_runs),
        *(strips.binned, strips.marks, strips.bin_marks, strips.failures, strips.shade, strips.cell_words, strips.told),
        *(session_words, words.wording, words.placed_flags, verdict_name, verdict_help, expects_words, failure_words),
    )
    time_window.init_app(app)
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
    counts: dict[str, int] = (session.facets or {}).get("finding", {})
    order = list(rules())
    return dict(sorted(counts.items(), key=lambda item: order.index(item[0]) if item[0] in order else len(order)))


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


def grouped_turns(lines: Iterable[Any]) -> list[tuple[str, list[Any]]]:
    """Turns in order, grouped by phase and sounding, or by round where there is neither.

    An event that names no phase stays in the group before it: it is no change of phase.
    """
    groups: list[tuple[str, list[Any]]] = []
    for turn in lines:
        name = _group(turn)
        if groups and (groups[-1][0] == name or (not name and turn.kind == "event")):
            groups[-1][1].append(turn)
        else:
            groups.append((name, [turn]))
    return groups


def _group(turn: Any) -> str:
    sounding = [f"sounding {turn.sounding}"] if turn.sounding is not None else []
    if not turn.phase and not sounding and turn.round is not None:
        return f"round {turn.round}"
    return " · ".join(([turn.phase] if turn.phase else []) + sounding)


def session_words(session: Any) -> str:
    return words.session_sentence(
        session.response_count,
        session.failed_count,
        session.rescued_count,
        session.home_profile,
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
        return f"the dump records that it failed{rescued}"
    return f"`{session.home_profile}` could not read it{rescued}"


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
