"""The login page, for servers that ask for a token."""

from __future__ import annotations

from flask import Blueprint, current_app, redirect, render_template, request, session
from werkzeug.wrappers import Response

from webapp.store.labels import BadLabel
from webapp.web import guards, people
from webapp.web.links import own_path

blueprint = Blueprint("login", __name__)


@blueprint.get("/login")
def form() -> str:
    return render_template("login/form.html", wrong=False)


@blueprint.post("/login")
def submit() -> Response | tuple[str, int]:
    token = current_app.config["SETTINGS"].token
    if token is not None and not guards.same(request.form.get("token", ""), token):
        return render_template("login/form.html", wrong=True), 422
    session["token"] = token
    session.permanent = True
    if request.form.get("name", "").strip():
        try:
            people.remember(request.form["name"])
        except BadLabel as error:
            return render_template("login/form.html", wrong=False, message=str(error)), 422
    return redirect(own_path(request.args.get("next", "")))
