"""Causes: the tree, and adding, renaming, merging and splitting again."""

from __future__ import annotations

from flask import Blueprint, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from webapp.extensions import db
from webapp.store.labels import causes as store
from webapp.web.people import author

blueprint = Blueprint("causes", __name__, url_prefix="/labels/causes")


@blueprint.get("")
def index(message: str | None = None) -> str:
    tree = store.tree(db.session)
    return render_template("labels/causes.html", tree=tree, groups=list(store.TREE), message=message)


@blueprint.post("")
def change() -> AnyResponse | tuple[str, int]:
    """Add `name` (under `group`), let `into` stand for `name`, or with `split` undo that."""
    form = request.form
    name, into = form.get("name", ""), form.get("into", "")
    try:
        if form.get("split"):
            store.split(db.session, name, author())
        elif into:
            store.merge(db.session, name, into, author())
        else:
            store.add(db.session, name, form.get("group"), author())
    except store.BadCause as error:
        return index(str(error)), 422
    return redirect(url_for("labels.causes.index"), 303)
