"""Failure groups as JSON: the list, one of them, and the one that a response is in."""

from __future__ import annotations

from flask import Blueprint, Response, jsonify, request

from webapp.extensions import db
from webapp.store.failures import as_json, group_detail, groups, neighbours
from webapp.store.sessions import turns
from webapp.store.sessions.filters import BadFilter
from webapp.web.api.failures import GROUP_DETAIL, GROUP_PAGE, SAME_FAILURE
from webapp.web.api.operation import Parameter, json, operation
from webapp.web.api.parameters import AFTER, FILTERS, SWITCH
from webapp.web.api.shapes import maybe, record, whole
from webapp.web.sessions import list_filters

blueprint = Blueprint("failures_api", __name__, url_prefix="/api")

A_PAGE, MOST = 50, 500


@blueprint.get("/failures")
@operation(
    "Failures",
    "List failure groups",
    json(GROUP_PAGE, "A page of groups, what is new first; `count` is of responses, `total` of groups"),
    query=(
        Parameter("new", SWITCH, "1: only new groups"),
        AFTER,
        Parameter("limit", whole(1, MOST), "groups of a page"),
        *FILTERS,
    ),
    example="?limit=10",
)
def list_api() -> Response:
    """`?limit=&after=&new=1` and the list's filters."""
    filters = list_filters.of_request()
    only_new = request.args.get("new") == "1"
    page = groups.page(db.session, filters, after=request.args.get("after"), limit=_limit(), only_new=only_new)
    return jsonify(as_json.page_dict(page))


@blueprint.get("/failures/<path:key>")
@operation(
    "Failures",
    "Read a failure group",
    json(GROUP_DETAIL, "The group; `group` is null if the filters leave none of its responses"),
    query=FILTERS,
)
def detail_api(key: str) -> Response:
    detail = group_detail.find(db.session, key, list_filters.of_request())
    return jsonify(as_json.detail_dict(detail))


@blueprint.get("/session/<session_id:ident>/turns/<int:position>/failure")
@operation(
    "Failures",
    "Read the failure group of a response",
    json(
        record(failure=maybe(SAME_FAILURE)),
        "The group with the previous and next response of it; null if the response did not fail",
    ),
    query=FILTERS,
)
def same_api(ident: str, position: int) -> Response:
    """The group of a response; `{"failure": null}` where it did not fail."""
    detail = turns.find_by_id(db.session, ident, position)
    same = neighbours.of_turn(db.session, detail.turn.id, list_filters.of_request())
    return jsonify(failure=None if same is None else as_json.same_dict(same))


def _limit() -> int:
    text = request.args.get("limit") or str(A_PAGE)
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and 0 < int(text) <= MOST):
        raise BadFilter(f"limit must be a number from 1 to {MOST}, not {text[:100]!r}")
    return int(text)
