"""What is done from the list: with selected sessions (a zip, labels, exports, comparing, deleting), and saved views."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise

from flask import Blueprint, Response, abort, flash, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from webapp.extensions import db
from webapp.parsing.words import counted
from webapp.store.exports import session_dump
from webapp.store.models import Session
from webapp.store.sessions import deletion, session_list
from webapp.store.sessions import sessions as session_store
from webapp.visible import visible
from webapp.web import audit_trail
from webapp.web.answers import streamed
from webapp.web.api.operation import FILTERS, IDS, content, operation
from webapp.web.api.shapes import BINARY
from webapp.web.identity import author
from webapp.web.links import in_header
from webapp.web.sessions import list_filters

blueprint = Blueprint("selection", __name__)

MOST_COMPARED = 6
"""columns that a page can show side by side"""


@blueprint.post("/selection/dumps")
def download() -> Response:
    return zipped_dumps(session_store.selected(db.session, request.form.getlist("ids")))


@blueprint.get("/api/sessions/dumps")
@operation(
    "Sessions",
    "Download several sessions as session dumps",
    content("A zip with a session dump each", {"application/zip": BINARY}),
    query=(IDS, *FILTERS),
    example="?failed=1",
)
def dumps_api() -> Response:
    """A zip of the dumps of sessions (`ids`, several), else of those under the list's filters, the first thousand."""
    if idents := request.args.getlist("ids"):
        return zipped_dumps([session_store.find(db.session, ident) for ident in idents[: session_store.MOST_SELECTED]])
    return zipped_dumps(session_store.filtered(db.session, list_filters.of_request()))


def zipped_dumps(sessions: list[Session]) -> Response:
    return streamed(session_dump.stream_zip(db.session, sessions), "application/zip", "sessions.zip")


@blueprint.post("/selection/label")
def label() -> AnyResponse:
    return _with_keys("labels.index")


@blueprint.post("/selection/export")
def export() -> AnyResponse:
    return _with_keys("exports.index")


def _with_keys(endpoint: str) -> AnyResponse:
    """To a page about the selected sessions, which its address names by their keys."""
    sessions = session_store.selected(db.session, request.form.getlist("ids"))
    return redirect(url_for(endpoint, ids=[session.key for session in sessions]), 303)


@blueprint.post("/selection/delete")
def ask() -> str:
    """Ask before deleting; the answer comes to `delete`."""
    return render_template(
        "selection/delete.html", sessions=session_store.selected(db.session, request.form.getlist("ids"))
    )


@blueprint.post("/selection/deleted")
def delete() -> AnyResponse:
    keys = deletion.delete(db.session, request.form.getlist("ids"))
    moment = session_store.deleted_at(db.session, keys)
    if moment is None:
        flash("Nothing deleted: those sessions were already gone.")
    else:
        minutes = int(deletion.UNDONE_FOR.total_seconds() // 60)
        flash(
            f"Deleted {counted(len(keys), 'session')}. This can be undone for {minutes} minutes.",
            f"undo:{moment.isoformat()}",
        )
    return redirect(url_for("sessions.index"), 303)


@blueprint.post("/selection/undo")
def undo() -> AnyResponse:
    try:
        keys = session_store.of_batch(db.session, datetime.fromisoformat(request.form.get("batch", "")))
    except ValueError:
        abort(400, "batch is not the id of a deletion.")
    back = deletion.undo(db.session, keys)
    flash(f"{len(back):,} restored." if back else "Too late to undo: the sessions are gone.")
    return redirect(url_for("sessions.index"), 303)


@blueprint.get("/selection/compare")
def compare() -> str:
    """Two or more sessions side by side, and where each first differs from the one before it."""
    sessions = session_store.selected(db.session, request.args.getlist("ids"))
    columns = sessions[:MOST_COMPARED]
    partings = [session_store.parting(db.session, *pair) for pair in pairwise(columns)]
    return render_template(
        "selection/compare.html", sessions=columns, partings=[None, *partings], left_out=len(sessions) - len(columns)
    )


views_blueprint = Blueprint("views", __name__)


@views_blueprint.post("/views")
def save() -> AnyResponse:
    query = request.form.get("query", "")
    try:
        name, seen = request.form.get("name", "").strip(), request.form.get("seen")
        before = next((view for view in session_list.views(db.session) if view.name == name), None)
        if before and seen is not None and before.made_at.isoformat() > seen:
            raise session_list.BadView(
                f"{before.author or 'somebody'} has saved another view of that name in the meantime"
            )
        instead = f", in place of the one that {before.author or 'nobody'} saved" if before else ""
        view = session_list.save_view(db.session, name, query, author=author())
        flash(f"Saved as {visible(view.name)}{visible(instead)}.")
    except session_list.BadView as error:
        flash(f"Not saved: {error}.")
    return _back(query)


@views_blueprint.post("/views/<int:view_id>/remove")
def remove(view_id: int) -> AnyResponse:
    removed = session_list.remove_view(db.session, view_id)
    if removed is None:
        flash("That view was already removed.")
    else:
        audit_trail.about(view=removed.name, saved_by=removed.author)
        by = visible(removed.author) or "somebody without a name"
        flash(f"Removed the view {visible(removed.name)}, which {by} saved.")
    return _back(request.form.get("here", ""))


def _back(query: str) -> AnyResponse:
    """To the list under the filters that were in view; only their query string comes from the form."""
    address = url_for("sessions.index")
    return redirect(in_header(f"{address}?{query.lstrip('?')}") if query else address, 303)
