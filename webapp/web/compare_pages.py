"""Compare: two profiles over stored responses, as a matrix, its cells, and one response side by side."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any
from urllib.parse import unquote

from flask import Blueprint, Response, jsonify, render_template, request

from webapp import jsontext
from webapp.capture import specs
from webapp.extensions import db
from webapp.gate import judging
from webapp.gate.judging import Difference, Path
from webapp.parsing import ABSENT, Trace, failure_group, profiles, words
from webapp.parsing.drawing import Node, nodes, telling
from webapp.parsing.edit import Span, apply, places
from webapp.store import tasks
from webapp.store.compare import comparing, listing
from webapp.store.sessions import debugger_queries, turns
from webapp.store.sessions.filters import BadFilter
from webapp.store.sessions.turns import NoSuchTurn
from webapp.store.write.parser import OURS
from webapp.visible import visible
from webapp.web import rawview
from webapp.web.answers import page, wants_partial
from webapp.web.api.operation import FILTERS, json, operation, parameter
from webapp.web.api.shapes import TEXT, filled
from webapp.web.labels import label_form
from webapp.web.sessions import list_filters

blueprint = Blueprint("compare", __name__)

SECOND = OURS
A_PAGE = 30
ORDER = ("both_different", "only_a", "only_b", "undecided", "neither", "both_same", *comparing.NOT_RUN)
"""which cell is opened first: the first that is not empty"""


@blueprint.get("/compare")
def index() -> Response:
    """The matrix, and the responses of one of its cells. Selected sessions are compared elsewhere."""
    filters = list_filters.of_request()
    a, b = _pair()
    live = tasks.page(db.session.connection(), tasks.REPLAY, live=True)  # first: what ends meanwhile is asked again
    comparison = comparing.compare(db.session, a, b, filters)
    cell = request.args.get("cell") or next((name for name in ORDER if comparison.counts[name]), "both_same")
    by, value = request.args.get("by", "group"), request.args.get("value")
    after = request.args.get("after", -1, type=int)
    about: dict[str, Any] = {"by": by, "value": value, "after": after}
    listed = listing.page(db.session, a, b, cell, filters, limit=A_PAGE, **about)
    over = {name: value for name, value in filters.active().items() if name not in ("under", "sort")}
    state: dict[str, Any] = {"a": a, "b": b, **filters.active(), "cell": cell, "by": by, "value": value}
    context: dict[str, Any] = {"c": comparison, "cell": cell, "by": by, "value": value, "listed": listed}
    context |= {"chips": list_filters.chips(filters), "filters": filters, "words": comparing.CELLS, "names": listing.BY}
    context |= {"profile_names": list(profiles()), "go": partial(list_filters.address, state), "over": over}
    context["named"] = _named
    context["running"] = [run for run in live if run.about["profile"] in (a, b)]
    if after >= 0 and wants_partial():
        return page("compare/_rows.html", "compare/_rows.html", **context)
    return page("compare/index.html", "compare/_all.html", **context)


@blueprint.get("/api/compare")
@operation(
    "Profiles",
    "Compare two profiles",
    json(
        "Comparison",
        "How many responses both profiles read the same or differently, only one reads, neither reads, or were not run",
    ),
    query=(
        parameter("a", TEXT, "the first; unset: the first of your own, or the parser of the newest session"),
        parameter("b", TEXT, f"unset: {SECOND}"),
        *FILTERS,
    ),
    example="?a=langchain&b=fencepost",
)
def compare_api() -> Response:
    a, b = _pair()
    comparison = comparing.compare(db.session, a, b, list_filters.of_request())
    return jsonify(filled("Comparison", comparison))


@blueprint.get("/sessions/<session_id:ident>/turns/<int:position>/compare")
def show(ident: str, position: int) -> Response:
    """One response under both profiles."""
    a, b = _pair()
    detail = turns.find_by_id(db.session, ident, position)
    raw = detail.turn.raw
    if raw is None or detail.turn.kind not in turns.MODEL_KINDS:
        raise NoSuchTurn(f"no model wrote turn {position}, so nothing was parsed")
    trace = debugger_queries.reader(db.session, detail, (a, b))
    sides = compared(raw, trace(a), trace(b))
    back = {name: text for name, text in request.args.items() if name not in ("a", "b")}
    context: dict[str, Any] = {"session": detail.session, "turn": detail.turn, "sides": sides, "a": a, "b": b}
    return page("compare/show.html", "compare/_sides.html", **context, back=back, words=words, most=MOST_ATTEMPTS)


def _named(value: str) -> str:
    """A group as people read it: of a failure group's key its title."""
    return failure_group.title(value) if re.match(r"v\d+\|", value) else visible(value)


def _pair() -> tuple[str, str]:
    """The profiles that the URL names; without them the program's own parser against ours."""
    first = request.args.get("a") or next(iter(specs.configured()), None) or comparing.newest_parser(db.session)
    return first, request.args.get("b") or SECOND


diff_blueprint = Blueprint("turn_diff", __name__)

MOST_COMPARED, LONGEST_COMPARED = 600, 100_000
"""of each text are compared: lines, and characters"""
_ADDRESS = re.compile(r"(?:.*/sessions/)?(?P<ident>[^/?#]+?)(?:/turns/|[. ])(?P<position>\d{1,9})(?:[?#].*)?")


@diff_blueprint.get("/diff", endpoint="show")
def show_diff() -> str:
    """Without both turns, the form that asks for them."""
    sides = {name: request.args.get(name, "").strip() for name in ("a", "b")}
    details = {name: _turn(name, text) for name, text in sides.items() if text}
    texts = [details[name].turn.raw or "" for name in sides if name in details]
    context: dict[str, Any] = {"sides": sides, "details": details, "lines": None}
    if len(texts) == len(sides):
        parts = [text[:LONGEST_COMPARED].split("\n") for text in texts]
        cut = any(
            len(text) > LONGEST_COMPARED or len(part) > MOST_COMPARED for text, part in zip(texts, parts, strict=True)
        )
        lines = label_form.difference(*parts)
        context |= {"lines": lines, "same": texts[0] == texts[1], "cut": cut, "most": (MOST_COMPARED, LONGEST_COMPARED)}
    return render_template("turns/diff.html", **context)


def _turn(name: str, text: str) -> turns.TurnDetail:
    """Raises `BadFilter`, `NoSuchSession` and `NoSuchTurn`."""
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise BadFilter(f"{name} must be a turn's address, or a session and a number as RUN.3, not {text[:80]!r}")
    return turns.find_by_id(db.session, unquote(match["ident"]), int(match["position"]))


MOST_LINES = 400
MOST_NODES = 20_000
MOST_ATTEMPTS = 30
LONGEST = 2_000
"""characters of one line that are shown"""


def compared(raw: str, a: Trace, b: Trace) -> dict[str, Any]:
    """Both sides, which of them could not be run here, and the first difference of their values; None where both read
    the same, or one reads nothing. Raises nothing: what cannot be located or shown says so."""
    difference = judging.first(a.values, b.values) if a.values and b.values else None
    return {
        "a": _side(raw, a, difference),
        "b": _side(raw, b, difference),
        "difference": difference,
        "same": bool(a.values) and not difference,
        "not_run": [letter for letter, trace in (("A", a), ("B", b)) if trace.version == ABSENT],
    }


def _side(raw: str, trace: Trace, difference: Difference | None) -> dict[str, Any]:
    """What one profile made of the response. `lit` is the raw span that the first difference came from, None where it
    cannot be located; `more` counts lines not shown; `outcome` is of the attempt that is drawn, "" without one."""
    lit = None if difference is None else located(raw, trace, difference.path)
    drawing = telling(trace)
    index = next((at for at, attempt in enumerate(trace.attempts) if drawing and attempt is drawing[0]), None)
    if difference is not None and difference.path and isinstance(difference.path[0], int):
        chosen = trace.chosen[difference.path[0] :][:1]
        index = chosen[0] if chosen else index
    lines = list(_values(trace.values, difference))
    first = next((at for at, line in enumerate(lines) if line["lit_from"] is not None), 0)
    start = max(0, min(first - MOST_LINES // 2, len(lines) - MOST_LINES))
    return {
        "trace": trace,
        "lines": lines[start : start + MOST_LINES],
        "more": max(0, len(lines) - MOST_LINES),
        "lit": lit,
        "raw": rawview.view(raw, trace.attempts, rawview.Focus(index, range=lit)),
        "outcome": "" if index is None else trace.attempts[index].outcome,
    }


def located(raw: str, trace: Trace, path: Path) -> Span | None:
    """The raw characters from which the value at `path` was decoded; None where it is not in that text."""
    if not path or not isinstance(path[0], int) or path[0] >= len(trace.chosen):
        return None
    attempt = trace.attempts[trace.chosen[path[0]]]
    node = _node(apply(raw, attempt.span, attempt.edits), path[1:])
    if node is None:
        return None
    end = node.start + 1 if node.end is None else node.end
    start = node.key.start if node.key else node.start
    span = places(attempt.span, attempt.edits).raw(start, end)
    return span if span.start < span.end else None


def _node(text: str, path: Path) -> Node | None:
    """The node of a decoded text to which a path leads; the last of equal keys, as the decoder has it."""
    parsed, _ = nodes(text, MOST_NODES)
    innermost: Node | None = None
    here: list[str | int] = []
    for node in parsed:
        del here[max(0, node.depth - 1) :]
        if node.depth:
            here.append(node.place if node.is_item else _key(text, node))
        if tuple(here) == tuple(path):
            innermost = node
    return innermost


def _key(text: str, node: Node) -> str:
    try:
        return str(jsontext.loads(text[node.key.start : node.key.end])) if node.key else ""
    except ValueError:
        return ""


def _values(values: Sequence[Any], difference: Difference | None) -> Iterator[dict[str, Any]]:
    """The values as lines of indented JSON; the one in which they first differ is lit from there on."""
    for index, value in enumerate(values):
        text, at = jsontext.pretty(value), 0
        lit = _lit(text, difference.path[1:], difference.at) if difference and difference.path[:1] == (index,) else None
        for line in text.split("\n"):
            bare = line.lstrip(" ")
            start, at = at + len(line) - len(bare), at + len(line) + 1
            lit_from = min(lit - start, LONGEST) if lit is not None and start <= lit < at else None
            yield {"depth": (len(line) - len(bare)) // 2, "text": bare[:LONGEST], "lit_from": lit_from}


def _lit(text: str, path: Path, at: int | None) -> int | None:
    """Where the value at `path` stands, or its character `at`; None where it is not there."""
    node = _node(text, path)
    if node is None or at is None:
        return None if node is None else node.start
    return node.start + len(jsontext.pretty(jsontext.loads(text[node.start : node.end])[:at])) - 1
