"""Turns: one response beside its parse attempts, under any profile."""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import urlencode

from flask import Blueprint, Response, jsonify, request, url_for
from werkzeug.exceptions import NotFound

from webapp.extensions import db
from webapp.parsing import Trace, profile, profiles
from webapp.parsing.edit import apply
from webapp.store import bench as bench_store
from webapp.store import labels as label_store
from webapp.store import sessions as session_store
from webapp.store import turns as store
from webapp.store.filenames import safe_name
from webapp.web import asked, compared, debugger, glyphs, rawview, reports
from webapp.web.links import ident as ident_of
from webapp.web.links import turn_url
from webapp.web.render import page

blueprint = Blueprint("turns", __name__)

blueprint.app_template_global("text_runs")(lambda text: list(glyphs.runs(text)))

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
        texts=texts(session, detail),
        before=bench_store.before(db.session, session, position),
        after=bench_store.after(db.session, session, position),
        rail=store.rail(db.session, session, first=first, count=2 * RAIL),
        around=store.neighbours(db.session, session, position),
        judgements=label_store.JUDGEMENTS,
        causes=label_store.CAUSES,
    )


def with_query(url: str, **query: Any) -> str:
    """`url` with a query; Flask's own builder would take most of a page's time for its many links."""
    return f"{url}?{urlencode(query)}" if query else url


def texts(session: Any, detail: store.TurnDetail) -> dict[str, str]:
    """Where the turn can be had as text, by what it is then."""
    at: dict[str, Any] = {"ident": ident_of(session), "position": detail.turn.position}
    found = {"raw": url_for("turns.download_raw", **at)} if detail.turn.raw is not None else {}
    if not found or detail.turn.kind not in WRITTEN_BY_MODEL:
        return found
    at["profile"] = request.args.get("profile") or session.home_profile
    more = {"markdown": "turns.markdown", "case": "turns.case", "api": "turns.show_api"}
    return found | {name: url_for(endpoint, **at) for name, endpoint in more.items()}


def bench(session: Any, detail: store.TurnDetail) -> debugger.Bench | None:
    """The debugger's state for this request, where a model wrote the turn's text. Raises `UnknownProfile`."""
    raw = detail.turn.raw
    if raw is None or detail.turn.kind not in WRITTEN_BY_MODEL:
        return None
    wanted = asked.of(request.args)
    home = session.home_profile
    names = compared.order(home)
    found = traces(detail, home, wanted.profile or home)
    return debugger.bench(raw, found, names, home, wanted, partial(with_query, turn_url(session, detail.turn.position)))


def traces(detail: store.TurnDetail, home: str, current: str) -> dict[str, Trace | str]:
    """Every profile's trace, of a long text only home's, ours and the current one's. Raises `UnknownProfile`."""
    profile(current)
    few = len(detail.turn.raw or "") > compared.EVERY_LENGTH
    names = list(dict.fromkeys((home, "fencepost", current))) if few else compared.order(home)
    return compared.read(names, bench_store.reader(db.session, detail, names, light=True))


def plain(turn: Any) -> rawview.RawView | None:
    """The text of a turn that nothing parses."""
    if not turn.raw or turn.kind in WRITTEN_BY_MODEL:
        return None
    wanted = asked.of(request.args)
    return rawview.view(turn.raw, (), rawview.Focus(range=wanted.marked(turn.raw), asked=wanted.windows(turn.raw)))


@blueprint.get("/sessions/<session_id:ident>/turns/<int:position>/raw")
def download_raw(ident: str, position: int) -> Response:
    """The raw text as a file, or with `?r=120-180` those characters of it."""
    session = session_store.find(db.session, ident)
    raw = text_of(store.find(db.session, session, position).turn)
    span = asked.of(request.args).marked(raw)
    response = Response((raw if span is None else span.of(raw)).encode("utf-8", "surrogatepass"), mimetype="text/plain")
    name = f"{safe_name(session.external_id)}-turn-{position}.txt"
    response.headers.set("Content-Disposition", "attachment" if span is None else "inline", filename=name)
    return response


@blueprint.get("/sessions/<session_id:ident>/turns/<int:position>/decoded")
def download_decoded(ident: str, position: int) -> Response:
    """The text that an attempt decoded: `?profile=`, `?attempt=` and, for a state between, `?edit=`."""
    session = session_store.find(db.session, ident)
    detail = parsed_turn(session, position)
    wanted = asked.of(request.args)
    trace = store.trace(detail, wanted.profile or session.home_profile)
    if wanted.attempt is None or wanted.attempt >= len(trace.attempts):
        raise NotFound(f"there are {len(trace.attempts)} attempts, counted from 0")
    attempt = trace.attempts[wanted.attempt]
    return text_answer(apply(detail.turn.raw or "", attempt.span, attempt.edits[: wanted.edit]))


@blueprint.get("/sessions/<session_id:ident>/turns/<int:position>/markdown")
def markdown(ident: str, position: int) -> Response:
    """The turn as Markdown for a bug report."""
    session = session_store.find(db.session, ident)
    detail = parsed_turn(session, position)
    turn, home = detail.turn, session.home_profile
    current = asked.of(request.args).profile or home
    found = traces(detail, home, current)
    facts = [
        ("session", f"{session.external_id}, turn {position}"),
        ("page", url_for("turns.show", ident=ident_of(session), position=position, profile=current, _external=True)),
        ("model", turn.model or ""),
        ("home profile", home),
        ("recorded failure", turn.recorded_failure or ""),
    ]
    others = [(name, debugger.said(trace)) for name, trace in found.items() if name != current]
    trace = store.trace(detail, current)
    return text_answer(reports.markdown(turn.raw or "", trace, [fact for fact in facts if fact[1]], others))


@blueprint.get("/sessions/<session_id:ident>/turns/<int:position>/case")
def case(ident: str, position: int) -> Response:
    """The turn as a test case; where somebody labelled it with an expected value, with that value."""
    detail = parsed_turn(session_store.find(db.session, ident), position)
    labels = [label for label in label_store.of_turn(db.session, detail.turn) if label.has_expected]
    trace = store.trace(detail, "fencepost")
    expected = [labels[-1].expected] if labels else None
    response = text_answer(reports.case(detail.turn.raw or "", trace, expected))
    response.headers.set("Content-Disposition", "inline", filename=reports.case_file(trace))
    return response


def parsed_turn(session: Any, position: int) -> store.TurnDetail:
    """The turn at `position`; raises `NotFound` where no model wrote it."""
    detail = store.find(db.session, session, position)
    if detail.turn.raw is None or detail.turn.kind not in WRITTEN_BY_MODEL:
        raise NotFound(f"no model wrote turn {position}, so nothing was parsed")
    return detail


def text_of(turn: Any) -> str:
    if turn.raw is None:
        raise NotFound(f"turn {turn.position} has no text")
    return str(turn.raw)


def text_answer(text: str) -> Response:
    """Plain text; a lone surrogate, which no encoding holds, as its escape."""
    return Response(text.encode("utf-8", "backslashreplace"), mimetype="text/plain")


@blueprint.get("/api/session/<session_id:ident>/turns/<int:position>")
def show_api(ident: str, position: int) -> Response:
    session = session_store.find(db.session, ident)
    detail = store.find(db.session, session, position)
    turn = detail.turn
    name = request.args.get("profile") or session.home_profile
    if name not in profiles():
        raise NotFound(f"no profile is called {name!r}; there are {', '.join(profiles())}")
    parsed = turn.raw is not None and turn.kind in WRITTEN_BY_MODEL
    trace = store.trace(detail, name).as_dict() if parsed else None
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
        profile=name,
        trace=trace,
    )
