"""Turns: one response beside its parse attempts, under any profile."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, jsonify, request
from werkzeug.exceptions import NotFound

from webapp.extensions import db
from webapp.parsing import Trace, profiles
from webapp.store import labels as label_store
from webapp.store import sessions as session_store
from webapp.store import turns as store
from webapp.store.filenames import safe_name
from webapp.web import debugger, rawview
from webapp.web.render import page

blueprint = Blueprint("turns", __name__)

RAIL = 60
"""How many turns the rail shows before and after the current one."""
WRITTEN_BY_MODEL = ("response", "tool_call")


@blueprint.get("/sessions/<session_id:ident>/turns/<int:position>")
def show(ident: str, position: int) -> Response:
    session = session_store.find(db.session, ident)
    detail = store.find(db.session, session, position)
    first = max(0, position - RAIL)
    return page(
        "turns/show.html",
        "turns/_debugger.html",
        session=session,
        detail=detail,
        turn=detail.turn,
        bench=bench(session, detail),
        plain=plain(detail.turn),
        rail=store.timeline(db.session, session, first=first, count=2 * RAIL),
        around=store.neighbours(db.session, session, position),
        labels=label_store.of_turn(db.session, detail.turn),
        judgements=label_store.JUDGEMENTS,
        causes=label_store.CAUSES,
    )


def bench(session: Any, detail: store.TurnDetail) -> debugger.Bench | None:
    """The debugger's state for this request, where a model wrote the turn's text."""
    if detail.turn.raw is None or detail.turn.kind not in WRITTEN_BY_MODEL:
        return None
    name = request.args.get("profile") or session.home_profile
    traces: dict[str, Trace] = {}
    for each in debugger.shown_profiles(detail.turn.raw, name, session.home_profile):
        traces[each] = store.trace(detail, each)
    if name not in traces:
        traces[name] = store.trace(detail, name)
    return debugger.bench(detail.turn.raw, traces, name, session.home_profile, request.args.get("attempt", type=int))


def plain(turn: Any) -> rawview.RawView | None:
    """The text of a turn that nothing parses."""
    return rawview.view(turn.raw, (), None) if turn.raw and turn.kind not in WRITTEN_BY_MODEL else None


@blueprint.get("/sessions/<session_id:ident>/turns/<int:position>/raw")
def download_raw(ident: str, position: int) -> Response:
    session = session_store.find(db.session, ident)
    turn = store.find(db.session, session, position).turn
    if turn.raw is None:
        raise NotFound(f"turn {position} has no text")
    response = Response(turn.raw.encode("utf-8", "surrogatepass"), mimetype="text/plain")
    name = f"{safe_name(session.external_id)}-turn-{position}.txt"
    response.headers.set("Content-Disposition", "attachment", filename=name)
    return response


@blueprint.get("/api/session/<session_id:ident>/turns/<int:position>")
def show_api(ident: str, position: int) -> Response:
    session = session_store.find(db.session, ident)
    detail = store.find(db.session, session, position)
    turn = detail.turn
    profile = request.args.get("profile") or session.home_profile
    if profile not in profiles():
        raise NotFound(f"no profile is called {profile!r}; there are {', '.join(profiles())}")
    parsed = turn.raw is not None and turn.kind in WRITTEN_BY_MODEL
    trace = store.trace(detail, profile).as_dict() if parsed else None
    return jsonify(
        session=session.external_id,
        position=position,
        kind=turn.kind,
        role=turn.role,
        agent=turn.agent,
        model=turn.model,
        phase=turn.phase,
        sounding=turn.sounding,
        round=turn.round,
        attempt=turn.attempt,
        sent_at=turn.sent_at and turn.sent_at.isoformat(),
        raw=turn.raw,
        failed=detail.failed,
        rescued=detail.rescued,
        recorded_failure=turn.recorded_failure,
        duplicates=[twin.source for twin in detail.duplicates],
        source=turn.source,
        profile=profile,
        trace=trace,
    )
