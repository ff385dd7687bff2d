"""Labels: what people said of responses, and the form in which they say it."""

from __future__ import annotations

import getpass
from typing import Any

from flask import Blueprint, Response, jsonify, redirect, render_template, request
from flask import session as cookie
from werkzeug.wrappers import Response as AnyResponse

from webapp.extensions import db
from webapp.store import labels as store
from webapp.store import sessions as session_store
from webapp.store import turns as turn_store
from webapp.web.links import turn_url
from webapp.web.render import page, wants_partial

blueprint = Blueprint("labels", __name__)


def author() -> str:
    """Who labels: the name given last in this browser, else the user that runs the server."""
    return str(cookie.get("author") or getpass.getuser())


@blueprint.app_context_processor
def name_author() -> dict[str, Any]:
    return {"author": author}


@blueprint.get("/labels")
def index() -> Response:
    return page("labels/index.html", "labels/_rows.html", **lines_of_request())


def lines_of_request(limit: int = 100) -> dict[str, Any]:
    """The labels behind `?after=`, and what to ask for next."""
    found = store.page(db.session, after=request.args.get("after"), limit=limit)
    return {"labels": found, "next": found[-1].after if len(found) == limit else None}


@blueprint.post("/sessions/<session_id:ident>/turns/<int:position>/label")
def save(ident: str, position: int) -> str | AnyResponse | tuple[str, int]:
    session = session_store.find(db.session, ident)
    turn = turn_store.find(db.session, session, position).turn
    form = request.form
    cookie["author"] = form.get("author", "").strip() or author()
    message = None
    try:
        if form.get("remove"):
            store.remove(db.session, turn, author=author())
        else:
            put(turn, form.get("judgement", ""), form.get("cause"), form.get("note"), author())
    except store.BadLabel as error:
        message = str(error)
    if message is None and not wants_partial():
        return redirect(turn_url(session, position) + "#label")
    body = render_template(
        "turns/_label.html" if wants_partial() else "turns/label.html",
        session=session,
        turn=turn,
        labels=store.of_turn(db.session, turn),
        judgements=store.JUDGEMENTS,
        causes=store.CAUSES,
        message=message,
    )
    return (body, 422) if message else body


def put(turn: Any, judgement: str, cause: str | None, note: str | None, who: str) -> Any:
    return store.put(db.session, turn, author=who, judgement=judgement, cause=cause or None, note=note or None)


@blueprint.get("/api/labels")
def list_api() -> Response:
    found = lines_of_request(500)
    return jsonify(labels=[line_dict(line) for line in found["labels"]], next=found["next"])


@blueprint.put("/api/session/<session_id:ident>/turns/<int:position>/label")
def put_api(ident: str, position: int) -> tuple[Response, int]:
    session = session_store.find(db.session, ident)
    turn = turn_store.find(db.session, session, position).turn
    body = request.get_json(force=True, silent=True)
    if not isinstance(body, dict):
        return refuse('the body is not a JSON object like {"judgement": "wrong", "cause": …, "note": …}')
    try:
        label = store.put(
            db.session,
            turn,
            author=str(body.get("author") or author()),
            judgement=str(body.get("judgement", "")),
            cause=body.get("cause"),
            note=body.get("note"),
            expected=body.get("expected"),
            has_expected="expected" in body,
        )
    except store.BadLabel as error:
        return refuse(str(error))
    return jsonify(label=label_dict(label, session.external_id, position)), 200


def refuse(message: str) -> tuple[Response, int]:
    return jsonify(error={"code": "bad_label", "message": message, "at": None}), 422


def label_dict(label: Any, external_id: str, position: int) -> dict[str, Any]:
    answer = {
        "session": external_id,
        "position": position,
        "author": label.author,
        "judgement": label.judgement,
        "cause": label.cause,
        "note": label.note,
        "made_at": label.made_at.isoformat(),
    }
    return answer | ({"expected": label.expected} if label.has_expected else {})


def line_dict(line: store.LabelLine) -> dict[str, Any]:
    return label_dict(line, line.external_id, line.position)
