"""Failure groups for programs: as JSON, and as an Atom feed (RFC 4287)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from xml.etree import ElementTree as ET

from flask import Blueprint, Response, jsonify, request

from webapp.extensions import db
from webapp.parsing.words import counted
from webapp.store.failures import group_detail, groups, neighbours
from webapp.store.failures.group_line import GroupLine, Groups
from webapp.store.sessions import turns
from webapp.visible import visible
from webapp.web.api.operation import AFTER, FILTERS, MOST_ROWS, SWITCH, Parameter, json, limit_of_request, operation
from webapp.web.api.sessions import GROUP_DETAIL, GROUP_PAGE, SAME_FAILURE
from webapp.web.api.shapes import maybe, record, whole
from webapp.web.sessions import list_filters

blueprint = Blueprint("failures_api", __name__, url_prefix="/api")


@blueprint.get("/failures")
@operation(
    "Failures",
    "List failure groups",
    json(GROUP_PAGE, "A page of groups, what is new first; `count` is of responses, `total` of groups"),
    query=(
        Parameter("new", SWITCH, "1: only new groups"),
        AFTER,
        Parameter("limit", whole(1, MOST_ROWS), "groups of a page"),
        *FILTERS,
    ),
    example="?limit=10",
)
def list_api() -> Response:
    filters = list_filters.of_request()
    only_new = request.args.get("new") == "1"
    limit = limit_of_request()
    page = groups.page(db.session, filters, after=request.args.get("after"), limit=limit, only_new=only_new)
    return jsonify(page.as_dict())


@blueprint.get("/failures/<path:key>")
@operation(
    "Failures",
    "Read a failure group",
    json(GROUP_DETAIL, "The group; `group` is null if the filters leave none of its responses"),
    query=FILTERS,
)
def detail_api(key: str) -> Response:
    return jsonify(group_detail.find(db.session, key, list_filters.of_request()).as_dict())


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
    detail = turns.find_by_id(db.session, ident, position)
    same = neighbours.of_turn(db.session, detail.turn.id, list_filters.of_request())
    return jsonify(failure=None if same is None else same.as_dict())


MOST_ENTRIES = 50
_ATOM = "http://www.w3.org/2005/Atom"


def atom(result: Groups, own_url: str, page: str, url_of: Callable[[str], str]) -> str:
    """The feed: an entry a group, the one that was first seen last in front. `own_url` and `page` are its addresses."""
    ET.register_namespace("", _ATOM)
    feed = ET.Element(f"{{{_ATOM}}}feed")
    lines = sorted(result.groups, key=lambda line: (line.known_since, line.key), reverse=True)
    newest = max((line.last_seen for line in lines), default=datetime.fromtimestamp(0, UTC))
    _add(feed, "title", "Fencepost: failure groups")
    _add(feed, "id", own_url)
    _add(feed, "updated", newest.isoformat())
    _add(_add(feed, "author"), "name", "Fencepost")
    _add(feed, "link", rel="self", href=own_url)
    _add(feed, "link", rel="alternate", href=page)
    if missing := _missing(result):
        _add(feed, "subtitle", "; ".join(missing))
    for line in lines:
        _entry(feed, line, url_of(line.key))
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(feed, encoding="unicode") + "\n"


def _missing(result: Groups) -> list[str]:
    missing = []
    if result.coverage.not_run:
        missing.append(f"parser unknown for {counted(result.coverage.not_run, 'response')}: not looked at")
    if result.total > len(result.groups):
        missing.append(f"{len(result.groups):,} of {counted(result.total, 'group')}; the page lists all")
    return missing


def _entry(feed: ET.Element, line: GroupLine, url: str) -> None:
    entry = _add(feed, "entry")
    _add(entry, "title", f"{_mark(line)}{visible(line.title)}")
    _add(entry, "id", url)
    _add(entry, "link", rel="alternate", href=url)
    _add(entry, "published", line.known_since.isoformat())
    _add(entry, "updated", line.last_seen.isoformat())
    models = ", ".join(visible(model or "no model named") for model, _ in line.models)
    words = f"{counted(line.count, 'response')} in {counted(line.sessions, 'session')}"
    _add(entry, "summary", f"{words}, first seen {line.first_seen:%Y-%m-%d %H:%M} UTC; models: {models}")


def _mark(line: GroupLine) -> str:
    if line.state == "regressed":
        return "regressed: "
    if line.is_new:
        return "new: "
    return f"new on {', '.join(map(visible, line.new_models))}: " if line.new_models else ""


def _add(parent: ET.Element, name: str, text: str | None = None, **attributes: str) -> ET.Element:
    element = ET.SubElement(parent, f"{{{_ATOM}}}{name}", attributes)
    element.text = text
    return element
