"""Lists of labels: all of them with their history, and where people disagree with a way to settle it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flask import Blueprint, Response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from webapp.extensions import db
from webapp.store.labels import causes, label_content, label_list, settling
from webapp.store.labels import labels as store
from webapp.store.sessions import turns as turn_store
from webapp.web import windows
from webapp.web.answers import page
from webapp.web.identity import author
from webapp.web.labels import label_form

blueprint = Blueprint("lists", __name__, url_prefix="/labels")
FILTERS = ("by", "judgement")


@blueprint.get("/list")
def index() -> Response:
    """All labels, the newest first."""
    chosen_filters = {name: request.args[name] for name in FILTERS if request.args.get(name)}
    lines, following = label_list.page(
        db.session,
        after=request.args.get("after"),
        limit=100,
        author=chosen_filters.get("by"),
        judgement=chosen_filters.get("judgement"),
    )
    return page(
        "labels/list.html",
        "labels/_rows.html",
        labels=lines,
        events=label_content.of_turns(db.session, {line.label.turn_id for line in lines}),
        given=chosen_filters,
        authors=label_list.authors(db.session),
        judgements=label_content.JUDGEMENTS,
        next=following,
    )


@blueprint.get("/disagreements")
def disagreements(message: str | None = None) -> str:
    settled = request.args.get("settled") == "1"
    responses = settling.disagreements(db.session, after=request.args.get("after", -1, int), settled=settled)
    return render_template(
        "labels/disagreements.html",
        found=responses,
        settled=settled,
        agreement=settling.measured(db.session),
        judgements=label_content.JUDGEMENTS,
        tree=causes.tree(db.session),
        written=written,
        said_of_value=said_of_value,
        evidence=evidence(responses[0]) if responses else {},
        votes=votes,
        stamp=store.stamp,
        message=message,
        next=responses[-1].turn.id if len(responses) == 50 else None,
    )


def evidence(labelled: settling.Labelled) -> dict[str, Any]:
    """What the first response is settled by: the text with the edits of its repair, and what the profiles read."""
    detail = turn_store.find(db.session, labelled.session, labelled.turn.position)
    texts = turn_store.texts_of(db.session, [labelled.turn.id])
    results = label_form.groups(label_form.every_trace(detail), labelled.session.first_profile, None)
    return {"line": windows.pieces(texts[labelled.turn.id]), "results": results}


def written(label: Any) -> str:
    """What a label expects, in words or as JSON."""
    fields = label_form.of_label(label, "")
    return fields.expected if fields.expects == "value" else label_form.EXPECTS[fields.expects]


def said_of_value(label: Any) -> str:
    """The first line about what a label expects: `expects {"tool": …`, or in words that there is no such value."""
    return f"expects {written(label)}" if label.expects in ("one", "several") else written(label)


def votes(labels: Sequence[Any]) -> list[dict[str, Any]]:
    """The labels of a response, equal ones (judgement, cause and expected value) as one, the most frequent first;
    `lines` is how the value differs from the first vote's."""
    together: dict[tuple[str, str | None, str], list[Any]] = {}
    for label in labels:
        together.setdefault((label.judgement, label.cause, written(label)), []).append(label)
    equal = sorted(together.values(), key=lambda group: -len(group))
    first = written(equal[0][0]).split("\n") if equal else []
    return [
        {
            "label": group[0],
            "authors": [label.author for label in group],
            "lines": label_form.difference(written(group[0]).split("\n"), first)[: label_form.SHOWN] if at else (),
        }
        for at, group in enumerate(equal)
    ]


@blueprint.post("/disagreements")
def settle() -> AnyResponse | tuple[str, int]:
    """Make one label of a response final, or take that back."""
    form = request.form
    turn = turn_store.find_by_id(db.session, form.get("key", ""), form.get("position", -1, int)).turn
    try:
        if form.get("unsettle"):
            settling.unsettle(db.session, turn, author=author())
        else:
            label = chosen(turn, form)
            settling.settle(db.session, turn, label, author=author(), why=form.get("why"), seen=form.get("seen"))
    except store.Conflict:
        return disagreements("Somebody else has settled this in the meantime; see under settled."), 409
    except label_content.BadLabel as error:
        return disagreements(str(error)), 422
    return redirect(url_for("labels.lists.disagreements"), 303)


def chosen(turn: Any, form: Any) -> label_content.LabelContent:
    """The label of the author that the form names, else what the form itself says; raises `BadLabel`."""
    name = form.get("whose")
    if not name:
        return label_form.said(label_form.of_form(form))
    label = store.of_author(db.session, turn, name)
    if label is None:
        raise label_content.BadLabel(f"{name[:100]} has no label here any more")
    return label_content.LabelContent(label.judgement, label.cause, None, label.expects, label.expected)


causes_blueprint = Blueprint("causes", __name__, url_prefix="/labels/causes")


@causes_blueprint.get("", endpoint="index")
def show_causes(message: str | None = None) -> str:
    tree = causes.tree(db.session)
    return render_template("labels/causes.html", tree=tree, groups=list(causes.TREE), message=message)


@causes_blueprint.post("", endpoint="change")
def change_causes() -> AnyResponse | tuple[str, int]:
    """Add `name` (under `group`), let `into` stand for `name`, or with `split` undo that."""
    form = request.form
    name, into = form.get("name", ""), form.get("into", "")
    try:
        if form.get("split"):
            causes.split(db.session, name, author())
        elif into:
            causes.merge(db.session, name, into, author())
        else:
            causes.add(db.session, name, form.get("group"), author())
    except causes.BadCause as error:
        return show_causes(str(error)), 422
    return redirect(url_for("labels.causes.index"), 303)
