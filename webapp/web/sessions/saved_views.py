"""Saved views: the filters of the list under a name."""

from __future__ import annotations

from flask import Blueprint, flash, redirect, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from webapp.extensions import db
from webapp.store.sessions import views as store
from webapp.visible import visible
from webapp.web.accounts import audit_trail
from webapp.web.links import in_header
from webapp.web.people import author

blueprint = Blueprint("views", __name__)


@blueprint.post("/views")
def save() -> AnyResponse:
    query = request.form.get("query", "")
    try:
        before = store.named(db.session, request.form.get("name", ""))
        instead = f", in place of the one that {before.author or 'nobody'} saved" if before else ""
        view = store.save(db.session, request.form.get("name", ""), query, author=author())
        flash(f"Saved as {visible(view.name)}{visible(instead)}.")
    except store.BadView as error:
        flash(f"Not saved: {error}.")
    return _back(query)


@blueprint.post("/views/<int:view_id>/remove")
def remove(view_id: int) -> AnyResponse:
    removed = store.remove(db.session, view_id)
    if removed is None:
        flash("That view was already removed.")
    else:
        name, by = removed
        audit_trail.about(view=name, saved_by=by)
        flash(f"Removed the view {visible(name)}, which {visible(by) or 'somebody without a name'} saved.")
    return _back(request.form.get("here", ""))


def _back(query: str) -> AnyResponse:
    """To the list under the filters that were in view; only their query string comes from the form."""
    address = url_for("sessions.index")
    return redirect(in_header(f"{address}?{query.lstrip('?')}") if query else address, 303)
