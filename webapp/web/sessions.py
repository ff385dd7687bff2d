"""Sessions: the list, one session's timeline, and its dump."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from flask import (
    Blueprint,
    Response,
    current_app,
    flash,
    jsonify,
    redirect,
    render_template,
    request,
    url_for,
)
from werkzeug.wrappers import Response as AnyResponse

from webapp.extensions import db
from webapp.store import dump as dump_store
from webapp.store import noticing, overview
from webapp.store import sessions as store
from webapp.store import turns as turn_store
from webapp.store import views as view_store
from webapp.store.filenames import safe_name
from webapp.store.filtering import Filters, of_parameters
from webapp.web import links, listing, session_page, strips
from webapp.web.people import author
from webapp.web.render import page, wants_partial
from webapp.web.streaming import streamed

blueprint = Blueprint("sessions", __name__)

SESSIONS_A_PAGE = 30
"""more than a screen holds; the next come as one scrolls"""
TURNS_A_PAGE = 200


def filters_of_request() -> Filters:
    """Raises `BadFilter`."""
    return of_parameters(request.args.to_dict())


def limit_of_request(default: int = 50) -> int:
    return max(1, min(500, request.args.get("limit", default, type=int)))


@blueprint.get("/")
def index() -> Response:
    filters = filters_of_request()
    found = store.page(db.session, filters, after=request.args.get("after"), limit=limit_of_request(SESSIONS_A_PAGE))
    around = listing.rows_context(found, filters)
    if "after" in request.args and wants_partial():
        return page("sessions/_rows.html", "sessions/_rows.html", **around)
    around |= listing.panel_context(found.counts, listing.groups(found, filters), filters)
    return page("sessions/index.html", "sessions/_list.html", **around, views=view_store.views(db.session))


@blueprint.get("/sessions/<session_id:ident>")
def show(ident: str) -> Response:
    """The page; for htmx and session.js the window of the timeline that `from` names."""
    session = store.find(db.session, ident)
    wanted = session_page.asked(request.args, session)
    found = session_page.of(db.session, session)
    shown = session_page.window(db.session, session, wanted, found)
    if not wants_partial():
        shown |= session_page.head(db.session, session, found) | session_page.hits(db.session, session, wanted)
    return page("sessions/show.html", "sessions/_window.html", **shown)


@blueprint.get("/sessions/<session_id:ident>/responses/<int:number>")
def response(ident: str, number: int) -> AnyResponse:
    """Go to the turn of a strip's mark: the response `number`, or the gravest of the `of` from there on."""
    session = store.find(db.session, ident)
    letters = session.strip[number : number + max(1, request.args.get("of", 1, type=int))]
    position = overview.response_position(db.session, session, number + strips.gravest(letters))
    return redirect(links.turn_url(session, position))


@blueprint.post("/sessions/<session_id:ident>/dump")
def write_dump(ident: str) -> str | AnyResponse:
    session = store.find(db.session, ident)
    written = dump_store.write(db.session, current_app.config["SETTINGS"], session)
    if wants_partial():
        return render_template("sessions/_dumped.html", session=session, written=written)
    flash(f"Wrote {written.entry_count} entries to {written.relative}.", links.dump_url(session))
    return redirect(links.session_url(session))


@blueprint.get("/api/sessions")
def list_api() -> Response:
    found = store.page(db.session, filters_of_request(), after=request.args.get("after"), limit=limit_of_request())
    lines = [session_dict(line) for line in found.sessions]
    facets = {name: dict(facet.values) for name, facet in found.facets.items()}
    matches = {key: [asdict(match) for match in several] for key, several in found.matches.items()}
    totals = {"total": found.total, "hidden": found.hidden, "open_ended": found.open_ended}
    return jsonify(sessions=lines, next=found.next, **totals, facets=facets, matches=matches)


@blueprint.get("/api/session/<session_id:ident>")
def show_api(ident: str) -> Response:
    session = store.find(db.session, ident)
    first = max(0, request.args.get("from", 0, type=int))
    count = limit_of_request(TURNS_A_PAGE)
    lines = turn_store.timeline(db.session, session, first=first, count=count, viewer=author())
    turns = [asdict(line) for line in lines]
    for turn in turns:
        turn["sent_at"] = turn["sent_at"] and turn["sent_at"].isoformat()
    found = [noticing.told(finding) for finding in session_page.of(db.session, session)]
    return jsonify(session=session_dict(session), findings=found, turns=turns)


@blueprint.post("/api/session/<session_id:ident>/dump")
def write_dump_api(ident: str) -> Response:
    session = store.find(db.session, ident)
    written = dump_store.write(db.session, current_app.config["SETTINGS"], session)
    return jsonify(success=True, dump_path=str(written.path), entry_count=written.entry_count)


@blueprint.get("/api/session/<session_id:ident>/dump")
def download_dump(ident: str) -> Response:
    session = store.find(db.session, ident)
    response = streamed(dump_store.stream(db.session, session), "application/json")
    response.headers.set("Content-Disposition", "attachment", filename=f"{safe_name(session.external_id)}.json")
    return response


def session_dict(session: Any) -> dict[str, Any]:
    """A session as the API shows it; times are ISO 8601 in UTC."""
    return {
        "id": session.external_id,
        "key": session.key,
        "revision": session.revision,
        "title": session.title,
        "format": session.source_format,
        "home_profile": session.home_profile,
        "models": session.models,
        "started_at": session.started_at and session.started_at.isoformat(),
        "ended_at": session.ended_at and session.ended_at.isoformat(),
        "turns": session.turn_count,
        "responses": session.response_count,
        "failed": session.failed_count,
        "rescued": session.rescued_count,
        "labelled": session.label_count,
        "bytes": session.raw_bytes,
        "findings": (session.facets or {}).get("finding", {}),
        "strip": session.strip,
        "url": url_for("sessions.show", ident=links.ident(session)),
    }
