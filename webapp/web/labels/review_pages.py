"""Reviewing: other people's labels one at a time, accepted or returned to their author with a note."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, redirect, request, url_for
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response as AnyResponse

from webapp.extensions import db
from webapp.store.labels import history, label_content, reviewing, values
from webapp.store.labels import labels as store
from webapp.store.models import Label, Session, Turn
from webapp.store.sessions import debugger_queries as bench_store
from webapp.store.sessions import turns as turn_store
from webapp.web import people
from webapp.web.labels.list_pages import written
from webapp.web.people import author
from webapp.web.render import page

blueprint = Blueprint("review", __name__, url_prefix="/labels/review")
SHOWN = 20_000
"""code points of the response that are shown; of a longer one, the page says how many"""


@blueprint.get("")
def index() -> Response | AnyResponse:
    """The next label that others gave and nobody reviewed; `of` narrows them to an author's."""
    if not people.is_named():
        return redirect(url_for("labels.name.ask", next=request.full_path))
    of, number = request.args.get("of") or None, request.args.get("label", type=int)
    if number:
        return shown(asked_for(number), of)
    return shown(reviewing.following(db.session, author(), after=request.args.get("after", 0, int), of=of), of)


@blueprint.post("")
def save() -> Response | AnyResponse:
    """Review the label that the form names, and go to the next."""
    form, of = request.form, request.form.get("of") or None
    label = asked_for(form.get("label", 0, int))
    state, note, seen = (form.get(name, "") for name in ("state", "note", "seen"))
    try:
        reviewing.put(db.session, label, state=state, author=author(), note=note, seen=seen)
    except label_content.BadLabel as error:
        return shown(asked_for(label.id), of, message=str(error), note=note, status=422)
    return redirect(url_for("labels.review.index", of=of, after=label.id), 303)


def asked_for(number: int) -> Label:
    """Raises `NotFound`, as where it is the label of a session that was deleted."""
    label = db.session.get(Label, number, populate_existing=True)
    turn = None if label is None else db.session.get_one(Turn, label.turn_id)
    if label is None or turn is None or db.session.get_one(Session, turn.session_id).deleted_at is not None:
        raise NotFound("this label no longer exists")
    return label


def shown(
    label: Label | None, of: str | None, *, message: str | None = None, note: str = "", status: int = 200
) -> Response:
    """The page of one label, or that there is none left."""
    context: dict[str, Any] = {"label": label, "of": of, "message": message, "note": note}
    context |= {"counts": reviewing.counts(db.session, author(), of), "undone": request.args.get("undone", type=int)}
    if label is not None:
        context |= about_label(label, of)
    return page("labels/review.html", "labels/_review.html", status, **context)


def about_label(label: Label, of: str | None) -> dict[str, Any]:
    """The label's response, what your parser returned for it, and where to go on."""
    turn = db.session.get_one(Turn, label.turn_id)
    session = db.session.get_one(Session, turn.session_id)
    trace = bench_store.trace(turn_store.find(db.session, session, turn.position), session.first_profile)
    skip = reviewing.following(db.session, author(), after=label.id, of=of)
    return {
        "session": session,
        "turn": turn,
        "cut": len(turn.raw or "") - SHOWN,
        "raw": (turn.raw or "")[:SHOWN],
        "returned": values.written(trace.values) if trace.chosen else None,
        "expected": written(label),
        "stamp": store.stamp(label),
        "events": [event for event in history.of_turn(db.session, turn.id) if history.is_of(event, label.author)],
        "skip": None if skip is None or skip.id == label.id else url_for(".index", of=of, after=label.id),
    }
