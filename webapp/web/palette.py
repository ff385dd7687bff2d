"""Ctrl-K, which finds pages, sessions, turns and filters as links; and the list of keys."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flask import Blueprint, render_template, request, url_for

from webapp.extensions import db
from webapp.store.sessions import session_list, sessions
from webapp.visible import visible
from webapp.web.links import in_header, session_url, turn_url
from webapp.web.sessions import list_filters

blueprint = Blueprint("palette", __name__)

PAGES = (
    ("failures.index", "Incidents"),
    ("sessions.index", "Responses as sessions"),
    ("responses.index", "Responses"),
    ("labels.index", "Labels: queue"),
    ("labels.lists.index", "Labels: all"),
    ("labels.lists.disagreements", "Labels: disagreements"),
    ("labels.causes.index", "Labels: causes"),
    ("exports.index", "Labels: export"),
    ("profiles.index", "Parsers"),
    ("homes.index", "Parsers: yours"),
    ("compare.index", "Parsers: compare two"),
    ("dumps.index", "Add logs"),
    ("playground.index", "Paste one response"),
    ("mappings.index", "Mappings"),
    ("tasks.index", "Tasks"),
    ("turn_diff.show", "Diff of two turns"),
    ("help.index", "Help"),
)
FILTERS = (("failed sessions only", "failed"), ("sessions that Fencepost can read", "rescued"))
_EACH = 6
_TURN = re.compile(r"(.+?)[ .,]+(?:turn )?(\d{1,9})")


@blueprint.get("/keys")
def keys() -> str:
    """Every key with what it means; the page shows those that it has."""
    return render_template("_partials/keys.html")


@blueprint.get("/go")
def found() -> str:
    """The links whose names have every word of `q`; a session's id and a number lead to that turn."""
    return render_template("_partials/found.html", found=list(_found(request.args.get("q", "").strip()[:200])))


def _found(text: str) -> Iterator[tuple[str, str, str]]:
    """Kind, name and address."""
    words = text.casefold().split()
    links = [("page", name, url_for(endpoint)) for endpoint, name in PAGES]
    links += [("filter", name, list_filters.with_filters("/sessions", {query: 1})) for name, query in FILTERS]
    yield from (link for link in links if all(word in link[1].casefold() for word in words))
    if not text:
        return
    if turn := _TURN.fullmatch(text):
        for session in sessions.with_id(db.session, turn[1], _EACH):
            if int(turn[2]) < session.turn_count:
                name = f"{visible(session.external_id)}, turn {int(turn[2])}"
                yield "turn", name, turn_url(session, int(turn[2]))
    for session in sessions.with_id(db.session, text, _EACH):
        yield "session", visible(session.external_id), session_url(session)
    for facet, value in session_list.facet_values(db.session, text, 2 * _EACH):
        yield facet, visible(value), list_filters.with_filters("/sessions", {facet: value})
    for view in session_list.views(db.session, text)[:_EACH]:
        yield "saved view", visible(view.name), in_header(f"{url_for('sessions.index')}?{view.content['query']}")
    yield "search", f"search texts for {visible(text)}", url_for("sessions.index", q=text)
