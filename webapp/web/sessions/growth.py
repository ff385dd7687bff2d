"""What the page of a session that is still growing asks for, again and again, until it grows no more."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from flask import Blueprint, Response, make_response, render_template, request

from webapp.extensions import db
from webapp.store.sessions import sessions as store
from webapp.store.write import finding_rows
from webapp.web.sessions import timeline_window

blueprint = Blueprint("growing", __name__)

LATELY = timedelta(minutes=5)
"""How long after its last growth a session counts as growing."""


@blueprint.get("/sessions/<session_id:ident>/growth")
def head(ident: str) -> Response:
    """What stands above the timeline, where the session changed since `changed`; else 204. Headers say the rest."""
    session = store.find(db.session, ident)
    if request.args.get("changed", type=int) == session.changed:
        response = Response(status=204)
    else:
        context = timeline_window.head(db.session, session, finding_rows.findings_of(db.session, session.id))
        first, last = 0, min(session.turn_count, timeline_window.STEP) - 1
        response = make_response(
            render_template("sessions/_head.html", session=session, first=first, last=last, **context)
        )
    response.headers["Fencepost-Changed"] = str(session.changed)
    response.headers["Fencepost-Turns"] = str(session.turn_count)
    response.headers["Fencepost-Growing"] = "yes" if is_growing(session) else "no"
    return response


@blueprint.app_template_global()
def is_growing(session: Any) -> bool:
    """Whether spans or a watched file brought turns in the last five minutes: no import of a finished file counts."""
    return session.grown_at is not None and datetime.now(UTC) - session.grown_at < LATELY
