"""The guided example: one failed response in five steps; whoever skips it is not offered it again."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from flask import Blueprint, current_app, redirect, render_template, request, url_for
from flask import session as cookie
from werkzeug.wrappers import Response

from webapp.extensions import db
from webapp.store.ingest.start import ingest_examples
from webapp.store.models import Session
from webapp.store.sessions import debugger_queries, overview
from webapp.store.sessions import turns as turn_store
from webapp.store.write.parser import OURS
from webapp.web.links import own_path, turn_url

blueprint = Blueprint("guide", __name__, url_prefix="/guide")

EXAMPLE = "ui_run_764686752e2f"
"""the example session that is taken where it is stored"""
STEPS = (
    (
        "What the agent wrote",
        "This is the raw response of one turn, every character as it came. It was meant to be JSON.",
    ),
    (
        "Where your parser stopped",
        "The parser of the session's own program tried to decode it, and stopped at the caret.",
    ),
    ("What would mend it", "A repair makes edits: removed characters are struck out, inserted ones are underlined."),
    ("What would have been read", "This is the decoded value after the edits: what the model meant."),
    (
        "Who else reads it",
        "Each profile is a parser. The column of verdicts says which of them read this text, and as what.",
    ),
)
_MOST_TRIED = 20


@dataclass(frozen=True, slots=True)
class GuideStep:
    """One step, counted from 1; `next_url` is None at the last."""

    number: int
    title: str
    words: str
    next_url: str | None


@blueprint.get("")
def begin() -> Response | str:
    """Go to the first step; where nothing is stored that it could show, offer the examples."""
    urls = _urls()
    return render_template("guide/none.html") if urls is None else redirect(urls[0])


@blueprint.post("/examples")
def load_examples() -> Response:
    ingest_examples(db.engine, current_app.config["SETTINGS"])
    return redirect(url_for("guide.begin") if request.form.get("guide") else url_for("sessions.index"), 303)


@blueprint.post("/end")
def end() -> Response:
    """Skipped or finished: this browser is not offered the guide again."""
    cookie["guided"] = True
    cookie.permanent = True
    return redirect(own_path(request.form.get("back", "")), 303)


@blueprint.app_template_global()
def is_guided() -> bool:
    """Whether this browser finished or skipped the guide."""
    return bool(cookie.get("guided"))


@blueprint.app_template_global()
def guide_step() -> GuideStep | None:
    """The step that the address asks for, on the pages that have one."""
    number = request.args.get("guide", type=int)
    urls = _urls() if number is not None and 1 <= number <= len(STEPS) else None
    if number is None or urls is None:
        return None
    return GuideStep(number, *STEPS[number - 1], urls[number] if number < len(STEPS) else None)


def _urls() -> tuple[str, ...] | None:
    """The address of each step, about a failed response and the attempt that has an edit; None where there is none."""
    query = sa.select(Session).where(Session.rescued_count > 0, Session.deleted_at.is_(None))
    first = sa.case((Session.external_id == EXAMPLE, 0), else_=1)
    session = db.session.scalar(query.order_by(first, Session.id).limit(1))
    if session is None or session.home_profile == "unknown":
        return None
    for position in overview.failed_positions(db.session, session)[:_MOST_TRIED]:
        trace = debugger_queries.trace(turn_store.find(db.session, session, position), OURS)
        edited = next((at for at in trace.chosen if trace.attempts[at].edits), None)
        if edited is not None:
            own, of = session.home_profile, {"profile": OURS, "attempt": edited}
            return (
                turn_url(session, position, guide=1),
                turn_url(session, position, guide=2, profile=own),
                turn_url(session, position, guide=3, edit=1, **of),
                turn_url(session, position, guide=4, view="value", **of),
                turn_url(session, position, guide=5, profile=OURS),
            )
    return None
