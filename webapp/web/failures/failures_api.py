"""Failure groups for programs, as JSON."""

from __future__ import annotations

from flask import Blueprint, Response, jsonify, request

from webapp.extensions import db
from webapp.store.failures import group_detail, groups, neighbours
from webapp.store.sessions import turns
from webapp.web.api.operation import AFTER, FILTERS, MOST_ROWS, SWITCH, json, limit_of_request, operation, parameter
from webapp.web.api.shapes import filled, whole
from webapp.web.sessions import list_filters

blueprint = Blueprint("failures_api", __name__, url_prefix="/api")


@blueprint.get("/failures")
@operation(
    "Failures",
    "List failure groups",
    json("failure_page", "A page of groups, what is new first; `count` is of responses, `total` of groups"),
    query=(
        parameter("new", SWITCH, "1: only new groups"),
        AFTER,
        parameter("limit", whole(1, MOST_ROWS), "groups of a page"),
        *FILTERS,
    ),
    example="?limit=10",
)
def list_api() -> Response:
    filters = list_filters.of_request()
    only_new = request.args.get("new") == "1"
    limit = limit_of_request()
    page = groups.page(db.session, filters, after=request.args.get("after"), limit=limit, only_new=only_new)
    return jsonify(filled("failure_page", page))


@blueprint.get("/failures/<path:key>")
@operation(
    "Failures",
    "Read a failure group",
    json("failure", "The group; `group` is null if the filters leave none of its responses"),
    query=FILTERS,
)
def detail_api(key: str) -> Response:
    return jsonify(filled("failure", group_detail.find(db.session, key, list_filters.of_request())))


@blueprint.get("/session/<session_id:ident>/turns/<int:position>/failure")
@operation(
    "Failures",
    "Read the failure group of a response",
    json(
        "same_failure_asked",
        "The group with the previous and next response of it; null if the response did not fail",
    ),
    query=FILTERS,
)
def same_api(ident: str, position: int) -> Response:
    detail = turns.find_by_id(db.session, ident, position)
    same = neighbours.of_turn(db.session, detail.turn.id, list_filters.of_request())
    return jsonify(failure=None if same is None else filled("same_failure", same))
