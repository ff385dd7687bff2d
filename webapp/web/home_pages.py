"""Your parser: the question which one a program uses, the page, changes for any scope, undoing, remembered rules."""

from __future__ import annotations

import time
from typing import Any

import sqlalchemy as sa
from flask import Blueprint, Response, abort, flash, jsonify, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from webapp.extensions import db, wake
from webapp.parsing import UnknownProfile, helps, profile, profiles
from webapp.parsing.words import called, counted
from webapp.store import tasks
from webapp.store.db.database import writing
from webapp.store.homes import changes, rules, trials
from webapp.store.models import Session, Task
from webapp.store.sessions import dumps
from webapp.store.sessions import sessions as session_store
from webapp.store.sessions.sessions import words_of
from webapp.store.write.parser import OURS, UNKNOWN
from webapp.web import links, task_pages
from webapp.web.api.operation import json, json_object, operation, refused
from webapp.web.api.shapes import filled
from webapp.web.identity import author

Asked = dict[str, Any] | None
"""What a banner draws of a question. `fields` name the sessions for the form; `url` leads to the banner alone.

The parsers to choose from are the `general` ones, Fencepost's own behind them, and those of field reports (`reported`).
"""


def question_of_list() -> Asked:
    """About every session whose parser nobody named; None where there is none, or it was dismissed."""
    return _asked(None, {"scope": "filters", "home": UNKNOWN}, {})


def question_of_session(session: Session) -> Asked:
    return _asked(Session.id == session.id, {"scope": "keys", "ids": session.key}, {"session": session.key})


def question_of_dump(number: int) -> Asked:
    return _asked(trials.of_dump(number), {"scope": "dump", "dump": number}, {"dump": number})


def _asked(where: sa.ColumnElement[bool] | None, fields: dict[str, Any], about: dict[str, Any]) -> Asked:
    if (question := trials.question(db.session.connection(), where)) is None:
        return None
    if not question.is_counted:
        wake()
    back = request.args.get("back") or request.full_path.rstrip("?")
    url = url_for("homes.question", back=back, **about)
    reported = [entry for entry in question.candidates if getattr(profile(entry.profile), "report", None) is not None]
    general = sorted((one for one in question.candidates if one not in reported), key=lambda one: one.profile == OURS)
    parsers = {"general": general, "reported": reported, "helps": helps()}
    return {"about": question, **parsers, "fields": fields, "url": url, "back": back}


def running_change() -> Task | None:
    """The change of parsers that is under way, for its progress on every page that asks; it is worked on."""
    live = tasks.page(db.session.connection(), tasks.HOMES, live=True, limit=1)
    if not live:
        return None
    wake()
    return live[0]


blueprint = Blueprint("homes", __name__)

AT_ONCE = 1.5
"""seconds that a request works on a change before it leaves the rest to the worker"""


@blueprint.get("/homes")
def index() -> str:
    lines, _ = task_pages.page(None, changes.MOST_SHOWN, tasks.HOMES)
    return render_template(
        "homes/index.html",
        question=question_of_list(),
        tasks=lines,
        rules=rules.lines(db.session.connection()),
        profile_names=list(profiles()),
    )


@blueprint.get("/homes/question")
def question() -> str | Response:
    """The banner alone, for a page that waits until everything is counted, or until a change has `moved` all."""
    if "moved" in request.args:
        text = render_template("homes/_question.html") if running_change() else ""
        return Response(text, headers={"HX-Refresh": "false" if text else "true"})
    if key := request.args.get("session"):
        open_question = question_of_session(session_store.find(db.session, key))
    elif dump := request.args.get("dump"):
        open_question = question_of_dump(dumps.find_id(db.session, dump))
    else:
        open_question = question_of_list()
    return render_template("homes/_question.html", question=open_question)


@blueprint.post("/homes")
def change() -> AnyResponse:
    """Give the sessions that the form names the parser that it names; `remember` keeps a rule for later ones."""
    name = request.form.get("profile", "").strip()
    if not name:
        abort(400, "Choose a parser.")
    parameters = request.form.to_dict()
    if "value" in parameters:
        parameters[parameters.get("scope", "")] = parameters["value"]
    scope = changes.of_parameters_or_keys(parameters, request.form.getlist("ids"))
    home = changes.home_of_name(name)
    ids = changes.session_ids(db.session, scope)
    db.session.rollback()
    if request.form.get("remember") == "1" and home.known:
        changes.remember(db.engine, scope, home.profile, author())
    number = changes.begin(db.engine, ids, home, scope=scope.as_dict(), author=author())
    return _worked_at(number, len(ids), f"read by {called(name)}" if home.known else "left with an unknown parser")


def _worked_at(number: int, count: int, words: str) -> AnyResponse:
    """Work at a change for a moment, say how far that came, and go back to where the form was."""
    until = time.monotonic() + AT_ONCE
    is_done = changes.work(db.engine, number, ends=lambda: time.monotonic() > until)
    if not is_done:
        wake()
    flash(f"{counted(count, 'session')} {'now' if is_done else 'are being'} {words}.", f"home:{number}")
    return redirect(links.own_path(request.form.get("back", "")), 303)


@blueprint.route("/homes/ask", methods=["GET", "POST"])
def ask() -> str:
    """Which parser selected sessions (a form's `ids`) use, or those under the list's filters."""
    keys = request.form.getlist("ids")
    parameters = {"scope": "keys"} if keys else {"scope": "filters"} | request.args.to_dict()
    scope = changes.of_parameters_or_keys(parameters, keys)
    return render_template(
        "homes/ask.html",
        scope=scope,
        words=words_of(scope.as_dict()),
        fields=parameters,
        count=len(changes.session_ids(db.session, scope)),
        back=url_for("sessions.index", **scope.filters.active()),
        profile_names=list(profiles()),
    )


@blueprint.post("/homes/changes/<int:number>/undo")
def undo(number: int) -> AnyResponse:
    undoing = changes.begin_undoing(db.engine, number, author())
    with db.engine.connect() as connection:
        count = tasks.find(connection, undoing).about["total"]
    return _worked_at(undoing, count, "as before")


@blueprint.post("/homes/rules")
def remember() -> AnyResponse:
    kind, value = request.form.get("kind", ""), request.form.get("value", "")
    with writing(db.engine) as connection:
        rules.remember(connection, kind, value, request.form.get("profile", ""), author())
    flash(f"Saved: later imports of the {kind} {value} use it too.")
    return redirect(url_for("homes.index"), 303)


@blueprint.post("/homes/rules/<int:number>/delete")
def forget(number: int) -> AnyResponse:
    rule = rules.forget(db.engine, number)
    flash(f"Deleted the rule for the {rule.kind} {rule.name}. Sessions keep their parser.")
    return redirect(url_for("homes.index"), 303)


@blueprint.put("/api/session/<session_id:ident>/home")
@operation(
    "Sessions",
    "Give a session another parser",
    json("home_set", "All that follows from it is stored"),
    body=json("home_asked", "A profile's name; null for an unknown parser", {"home": "langchain"}),
    refuses={422: "No profile is called so, or the body is another"},
)
def put_api(ident: str) -> tuple[Response, int]:
    session = session_store.find(db.session, ident)
    number, key = session.id, session.key
    body = json_object('{"home": P}, where P is a profile\'s name or null')
    if "home" not in body or not isinstance(body["home"], str | None):
        return refused("bad_home", 'the body is {"home": P}, where P is a profile\'s name or null')
    try:
        home = changes.home_of_name(body["home"])
    except UnknownProfile as unknown:
        return refused("unknown_profile", str(unknown))
    db.session.rollback()
    changed = changes.begin(db.engine, [number], home, scope={"keys": [key]}, author=author())
    changes.work(db.engine, changed)
    return jsonify(session=told("home", session_store.find(db.session, key)), change=changed), 200


@blueprint.get("/api/session/<session_id:ident>/home")
@operation(
    "Sessions",
    "Read which parser a session's program uses",
    json(
        "home_shown",
        "Of an unknown one also how many responses would have failed under each; null while they are counted",
    ),
)
def show_api(ident: str) -> Response:
    session = session_store.find(db.session, ident)
    open_question = question_of_session(session)
    candidates = open_question["about"].candidates if open_question else []
    failed = {candidate.profile: candidate.failed for candidate in candidates}
    return jsonify(told("home_shown", session, would_fail=failed))


def told(shape: str, session: Session, **more: Any) -> dict[str, Any]:
    evidence = rules.evidence(session.home_profile, session.home_source, session.extra)
    return filled(shape, session, home_evidence=evidence, **more)


blueprint.app_template_global("parser_change")(running_change)
