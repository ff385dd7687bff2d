"""Responses: the list of single responses under the list's filters, as a page and as JSON."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, jsonify, request

from webapp.extensions import db
from webapp.store.failures import scope
from webapp.store.sessions import responses as store
from webapp.store.sessions import session_list
from webapp.store.sessions import sessions as session_store
from webapp.store.sessions.facets import ProfileCoverage
from webapp.store.sessions.filters import HOME, Filters
from webapp.store.statistics import shares
from webapp.web.answers import page, wants_partial
from webapp.web.api.operation import AFTER, FILTERS, LIMIT, json, limit_of_request, operation
from webapp.web.api.shapes import filled
from webapp.web.links import turn_url
from webapp.web.sessions import list_filters

blueprint = Blueprint("responses", __name__)


@blueprint.get("/responses")
def index() -> Response:
    filters = list_filters.of_request()
    if (by := request.args.get("by")) in shares.BY:
        return grouped(filters, by)
    result = store.page(db.session, filters, after=request.args.get("after"), limit=limit_of_request())
    around = rows_context(result, filters)
    if "after" in request.args and wants_partial():
        return page("responses/_rows.html", "responses/_rows.html", **around)
    around |= list_filters.panel_context(session_list.page(db.session, filters, limit=1), filters)
    return page("responses/index.html", "responses/_list.html", **around)


def grouped(filters: Filters, by: str) -> Response:
    """The responses in view, counted by one thing that each of them has."""
    try:
        rows, why = shares.groups(db.session, filters, by), None
    except shares.NotGrouped as refused:
        rows, why = [], str(refused)
    around = list_filters.panel_context(session_list.page(db.session, filters, limit=1), filters)
    view = session_store.view(db.session, filters)
    cards, more_cards = shares.card(db.session, view)
    around |= {"found": rows, "why": why, "by": by, "cards": cards, "more_cards": more_cards}
    around |= {"assumed": scope.assumed(db.session, view), "zombies": shares.zombies(db.session, view)}
    return page("responses/index.html", "responses/_groups.html", **around, named=list_filters.named)


@blueprint.get("/api/responses")
@operation(
    "Responses",
    "List responses",
    json("response_page", "A page of responses; with `cut` it is incomplete and `next` continues it"),
    about="Each filter applies to the response itself, except those of its session: docs/filters.md.",
    query=(AFTER, LIMIT, *FILTERS),
    example="?failed=1&limit=20",
)
def list_api() -> Response:
    filters = list_filters.of_request()
    result = store.page(db.session, filters, after=request.args.get("after"), limit=limit_of_request())
    covered = result.coverage
    is_unknown = covered and covered.of and not covered.run and _asks(filters)
    lines = [response_dict(line, filters) for line in result.responses]
    total = None if is_unknown else result.total
    page = filled("response_page", result, responses=lines, total=total)
    return jsonify(page | coverage_dict(covered))


def rows_context(result: store.ResponsePage, filters: Filters) -> dict[str, Any]:
    """What the rows need, and the way to the next ones."""
    return {
        "page": result,
        "filters": filters,
        "coverage": result.coverage,
        "asks_parse": _asks(filters),
        "next_url": list_filters.address(filters.active(), after=result.next) if result.next else None,
        "turn_query": {"profile": filters.under} if filters.under != HOME else {},
        "over": list_filters.over(filters),
    }


def response_dict(line: store.ResponseLine, filters: Filters) -> dict[str, Any]:
    """A response as the API shows it; a verdict is null where that profile was not run over it."""
    verdicts = {"home": line.home, "fencepost": line.fencepost}
    return filled(
        "Response",
        line,
        verdicts=verdicts | ({} if filters.under == HOME else {filters.under: line.under}),
        url=turn_url(line, line.position),
    )


def coverage_dict(covered: ProfileCoverage | None) -> dict[str, Any]:
    """How far the profile looked under was run, where that is not over everything."""
    if covered is None or covered.is_whole:
        return {}
    return {"under": filled("Under", covered)}


def _asks(filters: Filters) -> bool:
    return any((filters.verdict, filters.strategy, filters.repair))
