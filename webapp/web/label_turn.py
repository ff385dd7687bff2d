"""The label of one turn: the form on the turn's page, what is told of other people's labels, and the API."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, jsonify, redirect, render_template, request
from werkzeug.wrappers import Response as AnyResponse

from webapp.extensions import db
from webapp.store import labels as store
from webapp.store import sessions as session_store
from webapp.store import turns as turn_store
from webapp.store.labelling import carrying, causes, history
from webapp.web import people
from webapp.web.links import turn_url
from webapp.web.people import author
from webapp.web.render import wants_partial

blueprint = Blueprint("turn", __name__)


def panel(session: Any, turn: Any) -> dict[str, Any]:
    """What is told of a response's labels: one's own; others' and the history only once one has labelled it.

    `blind` counts the labels that are not shown; `carried` are labels of the same text in other revisions.
    """
    given = store.of_turn(db.session, turn)
    mine = next((label for label in given if label.author == author()), None)
    others = [label for label in given if label.author != author()]
    events = history.of_turn(db.session, turn.id)
    shown = [event for event in events if mine is not None or event.author == author()]
    return {
        "mine": mine,
        "others": others if mine is not None else [],
        "blind": 0 if mine is not None else len(others),
        "events": shown,
        "carried": None if mine is not None else carrying.earlier(db.session, session, turn, author()),
    }


@blueprint.app_context_processor
def give_panel() -> dict[str, Any]:
    return {"label_panel": panel, "judgement_words": store.JUDGEMENTS, "label_stamp": store.stamp}


@blueprint.post("/sessions/<session_id:ident>/turns/<int:position>/label")
def save(ident: str, position: int) -> str | AnyResponse | tuple[str, int]:
    session = session_store.find(db.session, ident)
    turn = turn_store.find(db.session, session, position).turn
    message = None
    before = author()
    try:
        people.remember(request.form.get("author") or before)
        if request.form.get("remove"):
            store.remove(db.session, turn, author=author())
        else:
            put(turn, request.form, seen=request.form.get("seen") if author() == before else "")
    except (store.BadLabel, store.Conflict) as error:
        message = str(error)
    if message is None and not wants_partial():
        return redirect(turn_url(session, position) + "#label")
    body = render_template(
        "turns/_label.html" if wants_partial() else "turns/label.html",
        session=session,
        turn=turn,
        judgements=store.JUDGEMENTS,
        causes=store.CAUSES,
        message=message,
    )
    return (body, 422) if message else body


def put(turn: Any, form: Any, *, seen: str | None) -> None:
    """Keep what the form says; an expected value that the queue was told of stays. Who has just given another name
    has `seen` no label of that name."""
    mine = store.of_author(db.session, turn, author())
    store.put(
        db.session,
        turn,
        author=author(),
        judgement=form.get("judgement", ""),
        cause=form.get("cause") or None,
        note=form.get("note") or None,
        expects=mine.expects if mine else None,
        expected=mine.expected if mine else None,
        seen=seen,
    )


@blueprint.get("/api/labels")
def list_api() -> Response:
    """All labels; where it is told who asks, by `viewer` or by this browser's name, those of responses that they have
    not labelled say only whose they are."""
    viewer = request.args.get("viewer") or (author() if people.is_named() else None)
    found = store.page(db.session, after=request.args.get("after"), limit=500, viewer=viewer)
    following = found[-1].after if len(found) == 500 else None
    return jsonify(labels=[listed(line) for line in found], next=following)


def listed(line: store.LabelLine) -> dict[str, Any]:
    answer = label_dict(line, line.external_id, line.position)
    if not line.blind:
        return answer
    return {name: answer[name] for name in ("session", "position", "author", "made_at")} | {"blind": True}


@blueprint.put("/api/session/<session_id:ident>/turns/<int:position>/label")
def put_api(ident: str, position: int) -> tuple[Response, int]:
    session = session_store.find(db.session, ident)
    turn = turn_store.find(db.session, session, position).turn
    body = request.get_json(force=True, silent=True)
    if not isinstance(body, dict):
        return refuse('the body is not a JSON object like {"judgement": "wrong", "cause": …, "note": …}')
    try:
        label = store.put(db.session, turn, **asked_for(body))
    except (store.BadLabel, causes.BadCause) as error:
        return refuse(str(error))
    except store.Conflict as conflict:
        return jsonify(error={"code": "conflict", "message": str(conflict), "at": None}), 409
    return jsonify(label=label_dict(label, session.external_id, position)), 200


def asked_for(body: dict[str, Any]) -> dict[str, Any]:
    """What `store.put` takes, from the body of a request; raises `BadLabel`."""
    for name in ("cause", "note", "expects", "seen"):
        if not isinstance(body.get(name), str | None):
            raise store.BadLabel(f"{name} is a text")
    several = body.get("expects") == "several"
    expected = body.get("expected_values", body.get("expected")) if several else body.get("expected")
    if body.get("expects") == "one" and "expected" not in body:
        raise store.BadLabel('expects is "one", and there is no "expected"')
    return {
        "author": str(body.get("author") or author()),
        "judgement": str(body.get("judgement", "")),
        "cause": body.get("cause"),
        "note": body.get("note"),
        "expects": body.get("expects"),
        "expected": expected,
        "has_expected": "expected" in body,
        "seen": body.get("seen"),
    }


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
        "expects": label.expects,
        "made_at": label.made_at.isoformat(),
    }
    if label.expects == "several":
        return answer | {"expected_values": label.expected}
    return answer | ({"expected": label.expected} if label.has_expected else {})
