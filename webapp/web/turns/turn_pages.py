"""Turns: one response beside its parse attempts, under any profile."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from flask import Blueprint, Response, jsonify, request, url_for
from werkzeug.exceptions import Conflict, NotFound

from webapp import fitting
from webapp.exports import base as exports
from webapp.extensions import db
from webapp.parsing import Trace, profile, profiles, why_absent
from webapp.parsing.edit import Span, apply
from webapp.parsing.trace import unfit_sentence
from webapp.store.exports.session_dump import safe_name
from webapp.store.failures import neighbours
from webapp.store.labels import causes, label_content, settling
from webapp.store.labels import labels as label_store
from webapp.store.models import Turn
from webapp.store.sessions import debugger_queries, turn_facts
from webapp.store.sessions import turns as store
from webapp.store.sessions.turn_facts import stop_words
from webapp.visible import runs
from webapp.web import debugger, rawview, verdict_column
from webapp.web.answers import page, text_answer
from webapp.web.api.operation import json, operation, parameter
from webapp.web.api.shapes import TEXT, filled
from webapp.web.links import ident as ident_of
from webapp.web.links import turn_url
from webapp.web.turns import reports, stream_rows

blueprint = Blueprint("turns", __name__)

blueprint.app_template_global("text_runs")(runs)

TURNS_AROUND = 60
"""How many turns the turn list shows before and after the current one."""


@blueprint.get("/sessions/<session_id:ident>/turns/<int:position>")
def show(ident: str, position: int) -> Response:
    detail = store.find_by_id(db.session, ident, position)
    session, first = detail.session, max(0, position - TURNS_AROUND)
    contract = turn_facts.contract_of(db.session, detail.turn)
    return page(
        "turns/show.html",
        "turns/_debugger.html",
        session=session,
        detail=detail,
        turn=detail.turn,
        debugger=debugger_state(detail, contract),
        contract=contract,
        stop_words=stop_words(db.session, detail.turn),
        misfits=shown_misfits(detail, contract),
        plain=plain(detail.turn),
        texts=texts(detail),
        stream=stream_rows.shown(detail),
        before=debugger_queries.before(db.session, session, position),
        after=debugger_queries.after(db.session, session, position),
        turn_list=store.timeline(db.session, session, first=first, count=2 * TURNS_AROUND),
        around=store.neighbours(db.session, session, position),
        judgements=label_content.JUDGEMENTS,
        causes=causes.names(),
        same=neighbours.of_turn(db.session, detail.turn.id) if detail.failed else None,
    )


def texts(detail: store.TurnDetail) -> dict[str, str]:
    """Where the turn can be had as text, by what it is then."""
    at: dict[str, Any] = {"ident": ident_of(detail.session), "position": detail.turn.position}
    addresses = {"raw": url_for("turns.download_raw", **at)} if detail.turn.raw is not None else {}
    if not addresses or detail.turn.kind not in store.MODEL_KINDS:
        return addresses
    at["profile"] = request.args.get("profile") or detail.session.first_profile
    more = {"markdown": "turns.markdown", "case": "turns.case", "api": "turns.show_api"}
    return addresses | {name: url_for(endpoint, **at) for name, endpoint in more.items()}


def debugger_state(detail: store.TurnDetail, contract: dict[str, Any] | None) -> debugger.DebuggerState | None:
    """The debugger's state for this request, where a model wrote the turn's text. Raises `UnknownProfile`.

    Where nothing else is to be marked, it is what first breaks the contract.
    """
    raw = detail.turn.raw
    if raw is None or detail.turn.kind not in store.MODEL_KINDS:
        return None
    query, home = debugger.from_args(request.args), detail.session.first_profile
    places = [mismatch["span"] for mismatch in contract["mismatches"] if mismatch["span"]] if contract else []
    if places and query.range is None and query.attempt is None:
        query = replace(query, range=Span(*places[0]))
    go = partial(turn_url, detail.session, detail.turn.position)
    current = query.profile or home
    traces_by_profile = verdict_column.of_turn(detail, current)
    if current not in traces_by_profile:
        profile(current)
    return debugger.state(raw, traces_by_profile, home, query, go)


def misfits(detail: store.TurnDetail, trace: Trace) -> list[fitting.Misfit]:
    """What of the values does not fit the schema of the profile or of the turn's phase."""
    return fitting.misfits(trace.values, trace.profile, detail.turn.phase)


def shown_misfits(detail: store.TurnDetail, contract: dict[str, Any] | None) -> list[fitting.Misfit]:
    """Those under the profile that is looked at, unless they are what breaks the contract."""
    name = request.args.get("profile") or detail.session.first_profile
    if name == detail.session.home_profile and contract is not None and contract["source"] == "file":
        return []
    if not fitting.is_held(name, detail.turn.phase) or detail.turn.kind not in store.MODEL_KINDS:
        return []
    return misfits(detail, debugger_queries.trace(detail, name)) if detail.turn.raw is not None else []


def plain(turn: Any) -> rawview.RawView | None:
    """The text of a turn that nothing parses."""
    if not turn.raw or turn.kind in store.MODEL_KINDS:
        return None
    query = debugger.from_args(request.args)
    focus = rawview.Focus(range=query.marked(turn.raw), windows=query.windows(turn.raw))
    return rawview.view(turn.raw, (), focus)


@blueprint.get("/sessions/<session_id:ident>/turns/<int:position>/raw")
def download_raw(ident: str, position: int) -> Response:
    """The raw text as a file, or with `?r=120-180` those characters of it."""
    detail = store.find_by_id(db.session, ident, position)
    raw = detail.turn.raw
    if raw is None:
        raise NotFound(f"turn {position} has no text")
    span = debugger.from_args(request.args).marked(raw)
    response = Response((raw if span is None else span.of(raw)).encode("utf-8", "surrogatepass"), mimetype="text/plain")
    name = f"{safe_name(detail.session.external_id)}-turn-{position}.txt"
    response.headers.set("Content-Disposition", "attachment" if span is None else "inline", filename=name)
    return response


@blueprint.get("/sessions/<session_id:ident>/turns/<int:position>/decoded")
def download_decoded(ident: str, position: int) -> Response:
    """The text that an attempt decoded: `?profile=`, `?attempt=` and, for a state between, `?edit=`."""
    detail = store.find_by_id(db.session, ident, position)
    query = debugger.from_args(request.args)
    trace = debugger_queries.trace(detail, query.profile or detail.session.first_profile)
    if unfit := unfit_sentence(trace):
        raise Conflict(f"{trace.profile} {unfit}")
    if query.attempt is None or query.attempt >= len(trace.attempts):
        raise NotFound(f"there are {len(trace.attempts)} attempts, counted from 0")
    attempt = trace.attempts[query.attempt]
    return text_answer(apply(detail.turn.raw or "", attempt.span, attempt.edits[: query.edit]))


@blueprint.get("/sessions/<session_id:ident>/turns/<int:position>/markdown")
def markdown(ident: str, position: int) -> Response:
    """The turn as Markdown for a bug report."""
    detail = store.find_by_id(db.session, ident, position)
    session, turn = detail.session, detail.turn
    current = debugger.from_args(request.args).profile or session.first_profile
    trace = debugger_queries.trace(detail, current)
    facts = [
        ("session", f"{session.external_id}, turn {position}"),
        ("page", url_for("turns.show", ident=ident_of(session), position=position, profile=current, _external=True)),
        ("model", turn.model or ""),
        ("your parser", session.home_profile),
        ("recorded failure", turn.recorded_failure or ""),
    ]
    return text_answer(
        reports.markdown(
            turn.raw or "",
            trace,
            [fact for fact in facts if fact[1]],
            verdict_column.of_turn(detail, current),
            misfits(detail, trace),
        )
    )


@blueprint.get("/sessions/<session_id:ident>/turns/<int:position>/case")
def case(ident: str, position: int) -> Response:
    """The turn as a test case, with the values that people expect of it where their labels say so."""
    detail = store.find_by_id(db.session, ident, position)
    trace = debugger_queries.trace(detail, "fencepost")
    if unfit := unfit_sentence(trace):
        raise Conflict(f"{trace.profile} {unfit}")
    response = text_answer(reports.case(detail.turn.raw or "", trace, expected_values(detail.turn)))
    response.headers.set("Content-Disposition", "inline", filename=reports.case_file(trace))
    return response


def expected_values(turn: Turn) -> list[Any] | None:
    """The values that the settled label expects, else the newest label that says; None where none does."""
    settled = settling.final(db.session, turn)
    labels = [settled.content] if settled else label_store.of_turn(db.session, turn)
    return next((values for label in labels if (values := exports.expected_values(label)) is not None), None)


@blueprint.get("/api/session/<session_id:ident>/turns/<int:position>")
@operation(
    "Responses",
    "Read a turn with its trace",
    json(
        "Turn",
        "The turn; `trace` is null if no model wrote it, if the profile cannot run here (`not_run`), or if"
        " the stored parse does not fit the text (`unfit`)",
    ),
    query=(parameter("profile", TEXT, "the profile whose trace it is; unset: the session's own"),),
    example="?profile=fencepost",
)
def show_api(ident: str, position: int) -> Response:
    detail = store.find_by_id(db.session, ident, position)
    session, turn = detail.session, detail.turn
    name = request.args.get("profile") or session.first_profile
    if name not in profiles() and name != session.home_profile:
        raise NotFound(f"no profile is called {name!r}; there are {', '.join(profiles())}")
    parsed = turn.raw is not None and turn.kind in store.MODEL_KINDS
    missing = why_absent(profiles().get(name))
    trace = debugger_queries.trace(detail, name) if parsed and not missing else None
    unfit = unfit_sentence(trace) if trace else None
    if unfit:
        trace = None
    is_held = trace is not None and fitting.is_held(name, turn.phase)
    fields = filled(
        "Turn",
        turn,
        session=session.external_id,
        failed=detail.failed,
        rescued=detail.rescued,
        duplicates=[twin.source for twin in detail.duplicates],
        stop=None if turn.stop is None else {"reason": turn.stop, "said": turn.stop_said},
        tokens=_tokens(turn),
        stream=stream_rows.as_dict(detail),
        tool=turn.agent if turn.kind == "tool_call" else None,
        contract=turn_facts.contract_of(db.session, turn),
        profile=name,
        trace=trace.as_dict() if trace else None,
    )
    return jsonify(
        **fields,
        **({"misfits": [misfit._asdict() for misfit in misfits(detail, trace)]} if trace and is_held else {}),
        **({"not_run": missing} if missing else {}),
        **({"unfit": f"{name} {unfit}"} if unfit else {}),
    )


def _tokens(turn: Turn) -> dict[str, int | None]:
    """What was spent, of the output for reasoning, and the most that the request allows for the output."""
    cap = (turn_facts.declared_of(db.session, turn) or {}).get("max_tokens")
    return {"in": turn.tokens_in, "out": turn.tokens_out, "reasoning": turn.tokens_reasoning, "cap": cap}
