"""The label of one turn: the form on the turn's page, what other people said, the API, and under which name."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, jsonify, redirect, render_template, request
from werkzeug.wrappers import Response as AnyResponse

from webapp.extensions import db
from webapp.store.labels import causes, label_content, label_list
from webapp.store.labels import labels as store
from webapp.store.models import Label
from webapp.store.sessions import turns as turn_store
from webapp.web import identity
from webapp.web.answers import wants_partial
from webapp.web.api.operation import AFTER, json, json_object, operation
from webapp.web.api.shapes import filled
from webapp.web.identity import author
from webapp.web.links import own_path, turn_url

blueprint = Blueprint("turn", __name__)

LABEL_TEXTS = ("cause", "note", "expects", "seen")
"""what the body of a request may say as a text, or leave out"""


def panel(session: Any, turn: Any) -> dict[str, Any]:
    """A response's labels, one's own apart, and their history; `carried` is one's label of the same text in another
    revision."""
    labels = store.of_turn(db.session, turn)
    mine = next((label for label in labels if label.author == author()), None)
    return {
        "mine": mine,
        "others": [label for label in labels if label is not mine],
        "events": label_content.of_turn(db.session, turn.id),
        "carried": store.of_same_text(db.session, session, turn, author()) if mine is None else None,
    }


@blueprint.app_context_processor
def give_panel() -> dict[str, Any]:
    return {"label_panel": panel, "judgement_words": label_content.JUDGEMENTS, "label_stamp": store.stamp}


@blueprint.post("/sessions/<session_id:ident>/turns/<int:position>/label")
def save(ident: str, position: int) -> str | AnyResponse | tuple[str, int]:
    detail = turn_store.find_by_id(db.session, ident, position)
    session, turn = detail.session, detail.turn
    message = None
    before = author()
    try:
        identity.remember(
            request.form.get("author") or (before if identity.account_name() or identity.is_named() else "")
        )
        if request.form.get("remove"):
            store.remove(db.session, turn, author=author())
        else:
            put(turn, request.form, seen=request.form.get("seen") if author() == before else "")
    except (label_content.BadLabel, store.Conflict) as error:
        message = str(error)
    if message is None and not wants_partial():
        return redirect(turn_url(session, position) + "#label")
    body = render_template(
        "turns/_label.html" if wants_partial() else "turns/label.html",
        session=session,
        turn=turn,
        judgements=label_content.JUDGEMENTS,
        causes=causes.names(),
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
@operation(
    "Labels",
    "List labels",
    json("label_page", "At most 500 a page"),
    query=(AFTER,),
)
def list_api() -> Response:
    lines, following = label_list.page(db.session, after=request.args.get("after"), limit=500)
    labels = [label_dict(line.label, line.session.external_id, line.position) for line in lines]
    return jsonify(labels=labels, next=following)


@blueprint.put("/api/session/<session_id:ident>/turns/<int:position>/label")
@operation(
    "Labels",
    "Label a response",
    json("label", "The label as it is stored"),
    body=json(
        "new_label", "The label; `seen` is the `made_at` last seen", {"judgement": "wrong", "expected": {"a": 1}}
    ),
    refuses={409: "The label has changed since it was `seen`", 422: "The label cannot be kept as given"},
)
def put_api(ident: str, position: int) -> Response:
    detail = turn_store.find_by_id(db.session, ident, position)
    body = json_object('{"judgement": "wrong", "cause": …, "note": …}')
    label = store.put(db.session, detail.turn, **asked_for(body))
    return jsonify(label=label_dict(label, detail.session.external_id, position))


def asked_for(body: dict[str, Any]) -> dict[str, Any]:
    """What `store.put` takes, from the body of a request; raises `BadLabel`."""
    for name in LABEL_TEXTS:
        if not isinstance(body.get(name), str | None):
            raise label_content.BadLabel(f"{name} is a text")
    several = body.get("expects") == "several"
    expected = body.get("expected_values", body.get("expected")) if several else body.get("expected")
    if body.get("expects") == "one" and "expected" not in body:
        raise label_content.BadLabel('expects is "one", and there is no "expected"')
    return {
        **{name: body.get(name) for name in LABEL_TEXTS},
        "author": identity.checked_own(str(body.get("author") or author())),
        "judgement": str(body.get("judgement", "")),
        "expected": expected,
        "has_expected": "expected" in body,
    }


def label_dict(label: Label, external_id: str, position: int) -> dict[str, Any]:
    answer = filled("Label", label, session=external_id, position=position)
    if label.expects == "several":
        return answer | {"expected_values": label.expected}
    return answer | ({"expected": label.expected} if label.has_expected else {})


name_blueprint = Blueprint("name", __name__, url_prefix="/labels/name")


@name_blueprint.app_context_processor
def name_author() -> dict[str, Any]:
    return {"author": author, "is_named": identity.is_named, "account_name": identity.account_name}


@name_blueprint.get("")
def ask() -> str:
    return render_template("labels/name.html", wanted=request.args.get("next", ""), message=None)


@name_blueprint.post("")
def tell() -> AnyResponse | tuple[str, int]:
    next_page = request.form.get("next", "")
    try:
        identity.remember(request.form.get("name", ""))
    except label_content.BadLabel as error:
        return render_template("labels/name.html", wanted=next_page, message=str(error)), 422
    return redirect(own_path(next_page), 303)
