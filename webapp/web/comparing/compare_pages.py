"""Compare: two profiles over stored responses, as a matrix, its cells, and one response side by side."""

from __future__ import annotations

import re
from functools import partial
from typing import Any
from urllib.parse import unquote

from flask import Blueprint, Response, jsonify, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from webapp.capture import specs
from webapp.extensions import db
from webapp.parsing import failure_group, profiles
from webapp.store import tasks
from webapp.store.compare import comparing, listing
from webapp.store.sessions import debugger_queries, turns
from webapp.store.sessions import turns as store
from webapp.store.sessions.filters import BadFilter
from webapp.store.sessions.turns import NoSuchTurn
from webapp.store.write.parser import OURS
from webapp.visible import visible
from webapp.web import task_rows
from webapp.web.answers import page, wants_partial
from webapp.web.api.operation import FILTERS, Parameter, json, operation
from webapp.web.api.shapes import TEXT, ref
from webapp.web.comparing import side_by_side
from webapp.web.labels import profile_values
from webapp.web.sessions import list_filters

blueprint = Blueprint("compare", __name__)

SECOND = OURS
A_PAGE = 30
ORDER = ("both_different", "only_a", "only_b", "undecided", "neither", "both_same", *comparing.NOT_RUN)
"""which cell is opened first: the first that is not empty"""


@blueprint.get("/compare")
def index() -> Response | AnyResponse:
    """The matrix, and the responses of one of its cells. Selected sessions are compared elsewhere."""
    if "ids" in request.args:
        return redirect(url_for("selection.compare", ids=request.args.getlist("ids")))
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
    context["running"] = [task_rows.of_task(run) for run in live if run.about["profile"] in (a, b)]
    if after >= 0 and wants_partial():
        return page("compare/_rows.html", "compare/_rows.html", **context)
    return page("compare/index.html", "compare/_all.html", **context)


@blueprint.get("/api/compare")
@operation(
    "Profiles",
    "Compare two profiles",
    json(
        ref("Comparison"),
        "How many responses both profiles read the same or differently, only one reads, neither reads, or were not run",
    ),
    query=(
        Parameter("a", TEXT, "the first; unset: the first of your own, or the parser of the newest session"),
        Parameter("b", TEXT, f"unset: {SECOND}"),
        *FILTERS,
    ),
    example="?a=langchain&b=fencepost",
)
def compare_api() -> Response:
    a, b = _pair()
    comparison = comparing.compare(db.session, a, b, list_filters.of_request())
    return jsonify(comparison.as_dict())


@blueprint.get("/sessions/<session_id:ident>/turns/<int:position>/compare")
def show(ident: str, position: int) -> Response:
    """One response under both profiles."""
    a, b = _pair()
    detail = turns.find_by_id(db.session, ident, position)
    raw = detail.turn.raw
    if raw is None or detail.turn.kind not in turns.MODEL_KINDS:
        raise NoSuchTurn(f"no model wrote turn {position}, so nothing was parsed")
    trace = debugger_queries.reader(db.session, detail, (a, b))
    sides = side_by_side.sides(raw, trace(a), trace(b))
    back = {name: text for name, text in request.args.items() if name not in ("a", "b")}
    context: dict[str, Any] = {
        "session": detail.session,
        "turn": detail.turn,
        "sides": sides,
        "a": a,
        "b": b,
        "back": back,
    }
    return page("compare/show.html", "compare/_sides.html", **context)


def _named(value: str) -> str:
    """A group as people read it: of a failure group's key its title."""
    return failure_group.title(value) if re.match(r"v\d+\|", value) else visible(value)


def _pair() -> tuple[str, str]:
    """The profiles that the URL names; without them the program's own parser against ours."""
    first = request.args.get("a") or next(iter(specs.configured()), None) or comparing.newest_parser(db.session)
    return first, request.args.get("b") or SECOND


diff_blueprint = Blueprint("turn_diff", __name__)

LINES, LONGEST = 600, 100_000
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
        parts = [text[:LONGEST].split("\n") for text in texts]
        cut = any(len(text) > LONGEST or len(part) > LINES for text, part in zip(texts, parts, strict=True))
        lines = profile_values.difference(*parts)
        context |= {"lines": lines, "same": texts[0] == texts[1], "cut": cut, "most": (LINES, LONGEST)}
    return render_template("turns/diff.html", **context)


def _turn(name: str, text: str) -> store.TurnDetail:
    """Raises `BadFilter`, `NoSuchSession` and `NoSuchTurn`."""
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise BadFilter(f"{name} must be a turn's address, or a session and a number as RUN.3, not {text[:80]!r}")
    return store.find_by_id(db.session, unquote(match["ident"]), int(match["position"]))
