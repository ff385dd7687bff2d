"""Failure groups: the page that an on-call engineer opens first, a group's own, what is said there, and the feed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

from flask import Blueprint, Response, current_app, flash, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from webapp.exports import base
from webapp.exports.formats.pytest import MOST_UNLABELLED
from webapp.extensions import db
from webapp.parsing import UnknownProfile, minimal, profile, profiles, why_absent
from webapp.store.exports import group_file
from webapp.store.failures import events, group_detail, groups
from webapp.store.failures.events import BadState
from webapp.store.failures.group_detail import GroupDetail
from webapp.store.jobs import failure_webhook
from webapp.store.labels.queue_spec import GROUP, spec_of
from webapp.store.models import FailureEvent
from webapp.store.sessions import session_list, turns
from webapp.store.sessions import sessions as session_store
from webapp.store.sessions.filters import DESCRIBED, HOME, BadFilter, Filters
from webapp.store.sessions.turns import ExampleText
from webapp.store.statistics import incident
from webapp.store.write.parser import READ_AS, UNKNOWN
from webapp.web import home_pages, windows
from webapp.web.answers import download, page, text_answer
from webapp.web.failures import group_report
from webapp.web.identity import author
from webapp.web.sessions import list_filters

blueprint = Blueprint("failures", __name__)

A_PAGE = 30
MOST_FLAGGED = 4
"""new kinds of failure that are flags of the chart: the first of the list"""
REPRODUCED = 1_500_000
"""code points that the parser is given for the smallest reproduction on a page"""
MOST_OTHERS = 200
MOST_ENTRIES = 50
"""of the feed"""


def group_url(key: str, **query: Any) -> str:
    """A group's page; its key stands in the path, percent-encoded."""
    return list_filters.with_filters(f"/failures/{quote(key, safe='')}", query)


@blueprint.get("/failures")
def old_index() -> AnyResponse:
    """The groups' page is the first one."""
    return redirect(list_filters.with_filters("/", request.args.to_dict()), 302)


@blueprint.get("/")
def index() -> Response:
    filters = list_filters.of_request()
    only_new = request.args.get("new") == "1"
    by = request.args.get("by") or incident.DIVIDED[0]
    if by not in incident.DIVIDED:
        raise BadFilter(f"by must be one of {', '.join(incident.DIVIDED)}, not {by[:40]!r}")
    incident_ = incident.incident(db.session, filters, by)
    axis = (incident_.steps[0][0], incident_.steps[-1][1]) if incident_.steps else None
    new_since = incident_.change.since if incident_.change else None
    after = request.args.get("after")
    result = groups.page(
        *(db.session, filters), after=after, limit=A_PAGE, only_new=only_new, axis=axis, new_since=new_since
    )
    around = list_filters.panel_context(session_list.page(db.session, filters, limit=1), filters)
    active = filters.active() | ({"new": 1} if only_new else {}) | ({"by": by} if by != "model" else {})
    return page(
        "failures/index.html",
        "failures/_list.html",
        **around,
        result=result,
        chart=None
        if filters.under != HOME and result.coverage.not_run  # a rate over responses it was not run on would be too low
        else group_report.chart(incident_, filters, result.groups[:MOST_FLAGGED]),
        divided=[
            (part, list_filters.address(active, by=None if part == "model" else part)) for part in incident.DIVIDED
        ],
        only_new=only_new,
        group_query={name: value for name, value in filters.active().items() if name != "sort"},
        next_url=list_filters.address(active, after=result.next) if result.next else None,
        new_url=list_filters.address(filters.active(), new=None if only_new else 1),
        drawn=drawn([line.example.turn_id for line in result.groups if line.example]),
        question=home_pages.question_of_list() if result.coverage.assumed else None,
        trouble=failure_webhook.trouble(db.engine, current_app.config["SETTINGS"]),
    )


def drawn(turn_ids: list[int]) -> dict[int, list[windows.TaggedText]]:
    """Each response in one line, by turn."""
    texts = turns.texts_of(db.session, turn_ids)
    return {turn_id: windows.pieces(text) for turn_id, text in texts.items()}


@blueprint.get("/failures/<path:group>")
def show(group: str) -> Response | AnyResponse:
    filters = list_filters.of_request()
    detail = group_detail.find(db.session, group, filters)
    if detail.key != group:
        return redirect(group_url(detail.key, **filters.active()))
    if request.args.get("part") == "reproduction":
        return Response(render_template("failures/_reproduction.html", **reproduction_of(detail, filters)))
    if request.args.get("part") == "report":
        url = url_for("failures.show", group=group, _external=True)
        cut = reproduction_of(detail, filters)
        return text_answer(render_template("failures/report.md", detail=detail, url=url, **cut))
    if request.args.get("part") == "pytest":
        return pytest_file(detail, filters)
    return page(
        "failures/show.html",
        "failures/_group.html",
        detail=detail,
        line=detail.group,
        filters=filters,
        active=filters.active(),
        chips=list_filters.chips(filters),
        drawn=drawn([example.turn_id for example in detail.examples]),
        profile_names=list(profiles()),
        others=[(key, title) for key, title in groups.largest(db.session, MOST_OTHERS) if key != detail.key],
        label_url=label_url(detail, filters),
    )


def pytest_file(detail: GroupDetail, filters: Filters) -> Response:
    """The group's responses as regression tests: `most` of those without a known value at most."""
    bound = request.args.get("most") or str(MOST_UNLABELLED)
    if not bound.isascii() or not bound.isdigit():
        raise BadFilter(f"most must be a number of responses, not {bound[:40]!r}")
    most = min(int(bound[:9]), group_file.MOST)
    larger = filters.active() | {"part": "pytest", "most": group_file.MOST}
    larger_url = request.host_url.rstrip("/") + group_url(detail.key, **larger)
    urls = (label_url(detail, filters, external=True) or "", larger_url)
    pieces = group_file.pieces(db.session, detail.key, detail.title, filters, most=most, urls=urls)
    return download(pieces, base.find("pytest", "labels"), "test_failure_group")


def label_url(detail: GroupDetail, filters: Filters, *, external: bool = False) -> str | None:
    """The queue of the group's responses that the filters leave. It asks for what is unlabelled without a filter, which
    would take from it what one has labelled."""
    if detail.group is None:
        return None
    of_all = replace(filters, label=None if filters.label == "unlabelled" else filters.label)
    spec = spec_of({"queue": GROUP, "group": detail.key, "view": urlencode(of_all.active())})
    return url_for("labels.index", _external=external, **spec.query())


def reproduction_of(detail: GroupDetail, filters: Filters) -> dict[str, Any]:
    """The smallest reproduction of the group's shortest example, under the parser that fails there."""
    texts = turns.texts_of(db.session, [example.turn_id for example in detail.examples])
    read = {turn_id for turn_id, text in texts.items() if text.raw is not None}
    whole = [example for example in detail.examples if example.turn_id in read]
    if not whole:
        return {"reproduction": None, "why": "no example is short enough to be reduced", "parser": None, "at": None}
    at = min(whole, key=lambda example: (texts[example.turn_id].size, example.turn_id))
    home = session_store.find(db.session, at.session).home_profile
    parser = (READ_AS if home == UNKNOWN else home) if filters.under == HOME else filters.under
    return reduced(texts[at.turn_id], parser) | {"at": at}


def reduced(text: ExampleText, parser: str) -> dict[str, Any]:
    """A text cut as short as it fails the same way, or why it was not cut."""
    try:
        missing = why_absent(profile(parser))
    except UnknownProfile as unknown:
        missing = str(unknown)
    if missing:
        return {"reproduction": None, "parser": parser, "why": f"not reduced: {missing}"}
    result = minimal.of_profile(text.raw or "", parser, REPRODUCED)
    why = minimal.sentence(result, len(text.raw or ""), parser)
    return {"reproduction": result.text if result.same else None, "parser": parser, "why": why}


@blueprint.get("/failures.atom")
def atom() -> Response:
    """The groups under the list's filters as a feed (RFC 4287): an entry a group, newest first seen first."""
    filters = list_filters.of_request()
    result = groups.page(db.session, filters, limit=MOST_ENTRIES)
    lines = sorted(result.groups, key=lambda line: (line.known_since, line.key), reverse=True)
    newest = max((line.last_seen for line in lines), default=datetime.fromtimestamp(0, UTC))
    query = {name: value for name, value in request.args.items() if name in DESCRIBED}
    text = render_template("failures/feed.xml", result=result, lines=lines, newest=newest, filters=filters, query=query)
    return Response(text, mimetype="application/atom+xml")


actions_blueprint = Blueprint("failure_actions", __name__)


@actions_blueprint.post("/failures/<path:group>")
def change(group: str) -> AnyResponse:
    """`action` says what: state, assign, merge or undo. Raises `NoSuchGroup`."""
    history = group_detail.history(db.session, group)
    actions = {"state": _state, "assign": _assign, "merge": _merge, "undo": _undo}
    action = actions.get(request.form.get("action", ""))
    about = {"author": author(), "reason": request.form.get("reason", "").strip()}
    try:
        if action is None:
            raise BadState(f"action takes {', '.join(actions)}")
        _refuse_unseen(history)
        shown, message = action(group, about)
        db.session.commit()
    except BadState as refused:
        db.session.rollback()
        shown, message = group, f"Nothing was changed: {refused}."
    flash(message, "")
    return redirect(group_url(shown), 303)


def _refuse_unseen(history: Sequence[FailureEvent]) -> None:
    """Raises `BadState` where somebody changed the group since the form was shown: `seen` is its last event."""
    seen = request.form.get("seen")
    if seen is not None and history and str(history[-1].id) != seen:
        raise BadState(
            f"{history[-1].author} has changed this group in the meantime; see the history, then do it again"
        )


_READ: dict[str, tuple[Callable[[str], Any], str]] = {
    "grows": (float, "a number, such as 2"),
    "until": (lambda text: datetime.fromisoformat(text).replace(tzinfo=UTC), "a date, such as 2026-12-31"),
}
"""until when a group may be ignored: how it is read, and what it must be"""


def _state(group: str, about: dict[str, str]) -> tuple[str, str]:
    state, how = request.form.get("state", ""), request.form.get("how", "")
    fields: dict[str, Any] = {}
    if state == "resolved" and how.startswith("profile:"):
        name = how.removeprefix("profile:")
        fields = {"profile": name, "version": profile(name).version}
    if state == "ignored" and how in _READ:
        reads, words = _READ[how]
        fields = {how: request.form.get(how, type=reads)}
        if fields[how] is None:
            raise BadState(f"{how} must be {words}")
    count = len(groups.members(db.session, group, Filters()))
    events.set_state(db.session, group, state, count=count, **about, **fields)
    return group, f"{state.capitalize()} by {about['author']}: {about['reason']}"


def _assign(group: str, about: dict[str, str]) -> tuple[str, str]:
    name = request.form.get("assignee", "").strip()
    events.assign(db.session, group, name, **about)
    return group, f"Assigned to {name or 'nobody'}"


def _merge(group: str, about: dict[str, str]) -> tuple[str, str]:
    target = request.form.get("target", "")
    group_detail.history(db.session, target)
    events.merge(db.session, group, target, **about)
    return target, "Merged into this group; undo it under “Merged”."


def _undo(group: str, about: dict[str, str]) -> tuple[str, str]:
    events.unmerge(db.session, request.form.get("merged", ""), **about)
    return group, "Undone."


blueprint.app_template_global("group_url")(group_url)
blueprint.app_template_global("spark_bars")(group_report.spark_bars)
blueprint.app_template_global("share_words")(group_report.percent)
blueprint.app_template_global("rate_words")(group_report.rate_words)
