"""Sessions: the list, one session's timeline, and its dump."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from flask import (
    Blueprint,
    Response,
    current_app,
    flash,
    jsonify,
    make_response,
    redirect,
    render_template,
    request,
    url_for,
)
from werkzeug.wrappers import Response as AnyResponse

from webapp.extensions import db
from webapp.parsing import profiles
from webapp.store.exports import session_dump as dump_store
from webapp.store.exports.session_dump import safe_name
from webapp.store.failures import groups
from webapp.store.models import Session
from webapp.store.sessions import debugger_queries, overview, session_list
from webapp.store.sessions import sessions as store
from webapp.store.sessions import turns as turn_store
from webapp.store.sessions.facets import ProfileCoverage
from webapp.store.sessions.filters import NUMBERS
from webapp.store.write import stored_turns
from webapp.store.write.tally import VERDICTS
from webapp.web import home_pages, links, timeline
from webapp.web.answers import page, streamed, wants_partial
from webapp.web.api.operation import AFTER, FILTERS, LIMIT, json, limit_of_request, operation, parameter
from webapp.web.api.shapes import TEXT, filled, one_of, whole
from webapp.web.identity import author
from webapp.web.responses import coverage_dict
from webapp.web.sessions import list_filters, outcome_marks

blueprint = Blueprint("sessions", __name__)

SESSIONS_A_PAGE = 30
"""more than a screen holds; the next come as one scrolls"""
TURNS_A_PAGE = 200


@blueprint.get("/sessions")
def index() -> Response:
    filters = list_filters.of_request()
    result_page = session_list.page(
        db.session, filters, after=request.args.get("after"), limit=limit_of_request(SESSIONS_A_PAGE)
    )
    around = list_filters.rows_context(result_page, filters)
    if "after" in request.args and wants_partial():
        return page("sessions/_rows.html", "sessions/_rows.html", **around)
    around |= list_filters.panel_context(result_page, filters)
    around |= {"coverage": result_page.coverage, "question": home_pages.question_of_list()}
    return page("sessions/index.html", "sessions/_list.html", **around)


@blueprint.get("/sessions/<session_id:ident>")
def show(ident: str) -> Response:
    """The page; for htmx and session.js the window of the timeline that `from` names."""
    session = store.find(db.session, ident)
    query = timeline.timeline_query(request.args, session)
    findings = stored_turns.findings_of(db.session, session.id)
    context = timeline.window(db.session, session, query, findings, author())
    if not wants_partial():
        context |= timeline.head(db.session, session, findings) | timeline.hits(db.session, session, query)
        context |= {"question": home_pages.question_of_session(session), "profile_names": list(profiles())}
    return page("sessions/show.html", "sessions/_window.html", **context)


@blueprint.get("/sessions/<session_id:ident>/responses/<int:number>")
def response(ident: str, number: int) -> AnyResponse:
    """Go to the turn of a strip's mark: the response `number`, or the gravest of the `of` from there on."""
    session = store.find(db.session, ident)
    letters = session.strip[number : number + max(1, request.args.get("of", 1, type=int))]
    position = overview.response_position(db.session, session, number + outcome_marks.gravest(letters))
    return redirect(links.turn_url(session, position))


@blueprint.get("/api/next-failure")
@operation(
    "Sessions",
    "Go to the next failed response",
    json("next_failure", "Its place; at the end of the list `url` is null and `reason` says so"),
    about="On from a turn, through its session and then through those that the list has next under the same filters.",
    query=(
        parameter("session", TEXT, "the session's id or key, from which to go on"),
        parameter("position", whole(-1), "the turn from which to go on; -1 is before the first"),
        parameter("way", one_of(("next", "previous")), "which way"),
        parameter("group", TEXT, "only through the responses of this failure group"),
        *FILTERS,
    ),
    example="?session=SESSION&position=3",
)
def next_failure_api() -> Response:
    """With `group` the newest response comes first."""
    session = store.find(db.session, request.args.get("session", ""))
    forward = request.args.get("way") != "previous"
    position = request.args.get("position", -1, type=int)
    group = request.args.get("group")
    if group:
        place = _beside_in_group(group, session, position, forward)
    else:
        place = debugger_queries.failed_beside(db.session, list_filters.of_request(), session, position, forward)
    if place is None:
        where = "in this failure group" if group else "in the list"
        reason = f"No failure comes {'after' if forward else 'before'} this one {where}."
        return jsonify(url=None, session=None, position=None, reason=reason)
    session, position = place
    url = links.turn_url(session, position)
    return jsonify(url=url, session=session.external_id, position=position, reason=None)


def _beside_in_group(key: str, session: Session, position: int, forward: bool) -> tuple[Session, int] | None:
    """The response of the group behind the one at `position`, or before it; from anywhere else the newest one."""
    members = groups.members(db.session, key, list_filters.of_request())
    try:
        at = members.index(turn_store.find(db.session, session, position).turn.id) + (1 if forward else -1)
    except (turn_store.NoSuchTurn, ValueError):
        at = 0
    turn_ids = members[at : at + 1] if at >= 0 else []
    example = next(iter(groups.examples(db.session, turn_ids).values()), None)
    return None if example is None else (store.find(db.session, example.session), example.position)


@blueprint.post("/sessions/<session_id:ident>/dump")
def write_dump(ident: str) -> str | AnyResponse:
    session = store.find(db.session, ident)
    written = dump_store.write(db.session, current_app.config["SETTINGS"], session)
    if wants_partial():
        return render_template("sessions/_dumped.html", session=session, written=written)
    flash(f"Wrote {written.entry_count} entries to {written.name}.", links.dump_url(session))
    return redirect(links.session_url(session))


@blueprint.get("/api/sessions")
@operation(
    "Sessions",
    "List sessions",
    json("session_page", "A page of sessions, with the facets of all that are in view"),
    about="`under` is present if a profile was not run over all of them; if it was run over none, `total` is null.",
    query=(AFTER, LIMIT, *FILTERS),
    example="?failed=1&limit=20",
)
def list_api() -> Response:
    filters = list_filters.of_request()
    result_page = session_list.page(db.session, filters, after=request.args.get("after"), limit=limit_of_request())
    lines = [session_dict(line) for line in result_page.sessions]
    facets = {name: dict(facet.values) for name, facet in result_page.facets.items()}
    found = filled("session_page", result_page, sessions=lines, facets=facets)
    return jsonify(found | _not_run(result_page.coverage))


def _not_run(under: ProfileCoverage | None) -> dict[str, Any]:
    """Where the profile looked under was not run over all of it: how far, and no total where it was not run at all."""
    if under is None or under.is_whole:
        return {}
    return coverage_dict(under) | ({} if under.run else {"total": None, "hidden": None})


@blueprint.get("/api/session/<session_id:ident>")
@operation(
    "Sessions",
    "Read a session",
    json("session", "The session"),
    query=(parameter("from", whole(0), "the first turn's position"), LIMIT),
    example="?from=0&limit=50",
)
def show_api(ident: str) -> Response:
    session = store.find(db.session, ident)
    first = max(0, request.args.get("from", 0, type=int))
    count = limit_of_request(TURNS_A_PAGE)
    lines = turn_store.timeline(db.session, session, first=first, count=count, viewer=author())
    findings = [stored_turns.finding_dict(finding) for finding in stored_turns.findings_of(db.session, session.id)]
    return jsonify(filled("session", None, session=session_dict(session), findings=findings, turns=lines))


@blueprint.post("/api/session/<session_id:ident>/dump")
@operation("Sessions", "Write a session dump on the server", json("written_dump", "Where it is, under the data folder"))
def write_dump_api(ident: str) -> Response:
    written = dump_store.write(db.session, current_app.config["SETTINGS"], store.find(db.session, ident))
    return jsonify(success=True, dump_path=written.address, entry_count=written.entry_count)


@blueprint.get("/api/session/<session_id:ident>/dump")
@operation("Sessions", "Download a session dump", json("SessionDump", "The dump: entries as they came in"))
def download_dump(ident: str) -> Response:
    session = store.find(db.session, ident)
    name = f"{safe_name(session.external_id)}.json"
    return streamed(dump_store.stream(db.session, session), "application/json", name)


def session_dict(session: Any) -> dict[str, Any]:
    """A session as the API shows it."""
    return filled(
        "Session",
        session,
        shape=dict(zip(VERDICTS, session.shape, strict=True)),
        url=url_for("sessions.show", ident=links.ident(session)),
        **{number.name: getattr(session, number.column.key) for number in NUMBERS},
    )


growing_blueprint = Blueprint("growing", __name__)

LATELY = timedelta(minutes=5)
"""How long after its last growth a session counts as growing."""


@growing_blueprint.get("/sessions/<session_id:ident>/growth")
def head(ident: str) -> Response:
    """What stands above the timeline, where the session changed since `changed`; else 204. Headers say the rest."""
    session = store.find(db.session, ident)
    if request.args.get("changed", type=int) == session.changed:
        response = Response(status=204)
    else:
        context = timeline.head(db.session, session, stored_turns.findings_of(db.session, session.id))
        first, last = 0, min(session.turn_count, timeline.STEP) - 1
        response = make_response(
            render_template("sessions/_head.html", session=session, first=first, last=last, **context)
        )
    response.headers["Fencepost-Changed"] = str(session.changed)
    response.headers["Fencepost-Turns"] = str(session.turn_count)
    response.headers["Fencepost-Growing"] = "yes" if is_growing(session) else "no"
    return response


@growing_blueprint.app_template_global()
def is_growing(session: Any) -> bool:
    """Whether spans or a watched file brought turns in the last five minutes: no import of a finished file counts."""
    return session.grown_at is not None and datetime.now(UTC) - session.grown_at < LATELY
