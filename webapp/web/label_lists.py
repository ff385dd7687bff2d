"""Lists of labels: all of them with their history, and where people disagree with a way to settle it."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from webapp.extensions import db
from webapp.store import labels as store
from webapp.store import sessions as session_store
from webapp.store import turns as turn_store
from webapp.store.labelling import agreement, causes, history, settling
from webapp.web import label_form
from webapp.web.people import author
from webapp.web.render import page

blueprint = Blueprint("lists", __name__, url_prefix="/labels")
FILTERS = ("by", "judgement")


@blueprint.get("/list")
def index() -> Response:
    """All labels, the newest first; what others said of responses that one has not labelled is not told."""
    given = {name: request.args[name] for name in FILTERS if request.args.get(name)}
    found = store.page(
        db.session,
        after=request.args.get("after"),
        limit=100,
        author=given.get("by"),
        judgement=given.get("judgement"),
        viewer=author(),
    )
    return page(
        "labels/list.html",
        "labels/_rows.html",
        labels=found,
        events=history.of_turns(db.session, {line.turn_id for line in found if not line.blind}),
        given=given,
        authors=store.authors(db.session),
        judgements=store.JUDGEMENTS,
        next=found[-1].after if len(found) == 100 else None,
    )


@blueprint.get("/disagreements")
def disagreements() -> str:
    return listed()


def listed(message: str | None = None) -> str:
    settled = request.args.get("settled") == "1"
    found = settling.disagreements(
        db.session, after=request.args.get("after", -1, int), viewer=author(), settled=settled
    )
    return render_template(
        "labels/disagreements.html",
        found=found,
        settled=settled,
        agreement=agreement.measured(db.session),
        install=agreement.INSTALL,
        judgements=store.JUDGEMENTS,
        tree=causes.tree(db.session),
        written=written,
        stamp=settling.stamp,
        message=message,
        next=found[-1].turn.id if len(found) == 50 else None,
    )


def written(said: Any) -> str:
    """What a label expects, in words or as JSON."""
    fields = label_form.of_label(said, "")
    return fields.expected if fields.expects == "value" else label_form.EXPECTS[fields.expects]


@blueprint.post("/disagreements")
def settle() -> AnyResponse | tuple[str, int]:
    """Make one label of a response final, or take that back."""
    form = request.form
    session = session_store.find(db.session, form.get("key", ""))
    turn = turn_store.find(db.session, session, form.get("position", -1, int)).turn
    try:
        if form.get("unsettle"):
            settling.unsettle(db.session, turn, author=author())
        else:
            said = chosen(turn, form)
            settling.settle(db.session, turn, said, author=author(), why=form.get("why"), seen=form.get("seen"))
    except store.Conflict:
        return listed("This was settled meanwhile by somebody else; see under settled."), 409
    except store.BadLabel as error:
        return listed(str(error)), 422
    return redirect(url_for("labels.lists.disagreements"), 303)


def chosen(turn: Any, form: Any) -> store.Said:
    """The label of the author that the form names, else what the form itself says; raises `BadLabel`."""
    whose = form.get("whose")
    if not whose:
        return label_form.said(label_form.of_form(form))
    label = store.of_author(db.session, turn, whose)
    if label is None:
        raise store.BadLabel(f"{whose[:100]} has no label here any more")
    return store.Said(label.judgement, label.cause, None, label.expects, label.expected)
