"""Templates: their filters, and what else they call."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import groupby
from typing import Any

from flask import Flask, request, url_for
from markupsafe import Markup, escape

from webapp import installation, jsontext, markdown
from webapp.capture import specs
from webapp.contracts.contract import BROKEN, STATES
from webapp.findings.rulebook import about_rule, reason, rules
from webapp.parsing import profiles, words
from webapp.parsing.words import called, counted, filled, in_python
from webapp.plugins import defect
from webapp.store.sessions.filters import HOME, MORE_THAN, SHOWN
from webapp.store.statistics.shares import BY
from webapp.visible import clipped, filesize, line_runs, visible
from webapp.web import timeline
from webapp.web.labels.label_form import expects_words
from webapp.web.links import dump_url, ident, session_url, turn_url
from webapp.web.sessions import outcome_marks

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
    """Address (with the window), name, and whether the page stands in it, of each room."""
    blueprint = (request.endpoint or "").split(".")[0]
    values: dict[str, Any] = {name: value for name, value in window().items() if value}
    return [(url_for(endpoint, **values), name, blueprint in blueprints) for endpoint, name, blueprints in ROOMS]


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


def no_parser() -> str:
    """The parser that the address names where there is none of that name, else ""."""
    name = request.args.get("under", "")
    return "" if name == HOME or name in profiles() else name


SOURCE_LIMIT = 20_000
LIST_PAGES = ("sessions.index", "responses.index", "failures.index")
NO_FILTERS = ("q", "after", "limit", "more")
"""what else stands in a list's query string"""


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
    in_order = {name: session.findings[name] for name in rules() if name in session.findings}
    return {**in_order, **session.findings}


@cache
def rule_class(name: str) -> str:
    """The class of a finding's badge, by how grave its rule is."""
    rule = rules().get(name)
    return {"high": "bad", "medium": "edit", "low": ""}[rule.severity] if rule else ""


@cache
def _digest(name: str) -> str:
    return hashlib.sha256((installation.resource("static") / name).read_bytes()).hexdigest()[:10]


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
    names = (((title, "" if path is None else f"call path {path}"), group) for (title, path), group in groups)
    return [(" · ".join(filter(None, name)), [turn for _, turn in group]) for name, group in names]


def failure_words(turn: Any, session: Any) -> str:
    """Why a turn counts as failed, in production's own words where the dump has them."""
    rescued = "; Fencepost can read it" if turn.rescued else ""
    if turn.recorded_failure:
        said = clipped(turn.recorded_failure, 200).replace("``", "")
        return said.removesuffix(".") + rescued if rescued else said
    if turn.contract in BROKEN and turn.home != "failed":
        return f"it {STATES[turn.contract]}{rescued}"
    if session.home_profile == "unknown":
        return f"`json.loads` could not read it, and its parser is unknown{rescued}"
    return f"`{words.called(session.home_profile)}` could not read it{rescued}"


def source_text(turn: Any) -> str:
    """The entry as it came, indented; the raw text's own place says so instead of repeating it."""
    source = turn.source
    if turn.raw_at and isinstance(source, dict):
        source = {key: "… the raw text" if [key] == list(turn.raw_at) else value for key, value in source.items()}
    text = jsontext.pretty(source)
    more = len(text) - SOURCE_LIMIT
    return text if more <= 0 else f"{text[:SOURCE_LIMIT]}\n… {more:,} characters more"


CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
"""A run of backticks, text, and a run of the same length (CommonMark 0.31, 6.1)."""
_RIGHT_TO_LEFT = re.compile("({0}(?:[^\"'`{{}}\\[\\]\\\\\n]*{0})?)".format("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]"))
"""from a letter that is written from right to left to the last one before a sign of JSON"""


def isolated(text: str) -> Markup | str:
    """A text in which every stretch from right to left stands in a `bdi`, so that no bracket or quote moves with it."""
    if _RIGHT_TO_LEFT.search(text) is None:
        return text
    parts = _RIGHT_TO_LEFT.split(text)
    return Markup("").join(Markup("<bdi>{}</bdi>").format(part) if at % 2 else part for at, part in enumerate(parts))


def grouped(number: int) -> str:
    return f"{number:,}"


def exact(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def ago(when: datetime) -> str:
    """How long ago, in the largest unit that fits; the date for what lies more than a month back or ahead."""
    seconds = (datetime.now(UTC) - when).total_seconds()
    if seconds < -60 or seconds > 30 * 86400:
        return when.astimezone(UTC).strftime("%-d %b %Y")
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "just now"


def seconds(number: float) -> str:
    """`0.4 s`, `12 s`, `3 min 5 s`, `2 h 10 min`, `4 d 2 h`."""
    if number < 60:
        return f"{number:.1f} s" if number < 10 else f"{number:.0f} s"
    units = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))
    size, unit = next(pair for pair in units if number >= pair[0])
    below, name = units[units.index((size, unit)) + 1]
    rest = int(number % size // below)
    return f"{int(number // size)} {unit}" + (f" {rest} {name}" if rest else "")


def dollars(cost: float) -> str:
    """US dollars to two places that say something: `$1.25`, `$0.0042`, `$0`."""
    if not cost:
        return "$0"
    return f"${cost:,.2f}" if cost >= 1 else f"${cost:.2g}" if cost >= 0.0001 else "<$0.0001"


def spent_words(spent: Mapping[str, float | None], responses: int) -> str:
    """`12 tokens in, 340 tokens out (said of 3), $0.12, 5.0 s`; what no response says is left out."""
    units: dict[str, Callable[[float], str]] = {
        "tokens_in": lambda count: f"{counted(round(count), 'token')} in",
        "tokens_out": lambda count: f"{counted(round(count), 'token')} out",
        "cost": dollars,
        "seconds": lambda sum_of: "<0.1 s" if 0 < sum_of < 0.05 else seconds(sum_of),
    }
    sums = [
        (said, words(sum_of))
        for name, words in units.items()
        if (sum_of := spent[name]) is not None and (said := spent[f"{name}_said"])
    ]
    parts = [words if number == responses else f"{words} (said of {number:,.0f})" for number, words in sums]
    return ", ".join(parts) or "not in this log"


def ticks(text: str) -> Markup:
    """Escaped text in which code spans, written with backticks as in CommonMark, are code."""
    pieces: list[Markup] = []
    at = 0
    for match in CODE_SPAN.finditer(text):
        pieces += [escape(text[at : match.start()]), Markup("<code>{}</code>").format(match[2].strip())]
        at = match.end()
    return Markup("").join([*pieces, escape(text[at:])])


OPTIONS: dict[str, Any] = {"trim_blocks": True, "lstrip_blocks": True}


def init_app(app: Flask) -> None:
    filters = (grouped, ago, exact, visible, isolated, filesize, ticks, seconds, dollars, filled, called, defect)
    app.jinja_env.filters.update({function.__name__: function for function in filters})
    app.jinja_env.filters.update(
        as_markdown=markdown.escaped, as_code=markdown.code, as_block=markdown.block, fenced=markdown.fenced
    )
    functions = (
        *(nav, window, recent, moment, parser_names, no_parser, in_python, spent_words),
        *(asset, kept_filters, findings_of, rule_class, about_rule, reason),
        *(ident, session_url, turn_url, dump_url, turn_name, grouped_turns, source_text, line_runs),
        *(
            outcome_marks.responses_per_mark,
            outcome_marks.marks,
            outcome_marks.failures,
            outcome_marks.shade,
            outcome_marks.gravest,
            outcome_marks.cell_words,
            outcome_marks.marks_in_words,
        ),
        *(timeline.session_words, words.wording, words.placed_flags, expects_words, failure_words),
    )
    tables = {"VERDICTS": words.VERDICTS, "VERDICT_NAMES": words.VERDICT_NAMES, "SHOWN": SHOWN, "MORE_THAN": MORE_THAN}
    tables["RESPONSES_BY"] = {name: title for name, (title, _) in BY.items()}
    app.jinja_env.globals.update({function.__name__: function for function in functions}, plural=counted, **tables)
