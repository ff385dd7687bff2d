"""The login page, for servers that ask for a token."""

from __future__ import annotations

from urllib.parse import urlsplit

from flask import Blueprint, current_app, redirect, render_template, request, session, url_for
from werkzeug.wrappers import Response

from webapp.web import guards

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
    return redirect(own_path(request.args.get("next", "")))


def own_path(wanted: str) -> str:
    """`wanted` where it is a path of this server, else the first page."""
    parts = urlsplit(wanted)
    ours = wanted.startswith("/") and not wanted.startswith(("//", "/\\")) and not parts.scheme and not parts.netloc
    return wanted if ours else url_for("sessions.index")
