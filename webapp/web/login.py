"""Signing in and out, on servers that ask for a token."""

from __future__ import annotations

from flask import Blueprint, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from webapp.store.labels.label_content import BadLabel
from webapp.web import guards, people
from webapp.web.links import own_path
from webapp.web.login_cookie import LIFE

blueprint = Blueprint("login", __name__)


@blueprint.get("/login")
def form() -> str:
    return render_template("login/form.html", wrong=False)


@blueprint.post("/login")
def submit() -> Response | tuple[str, int]:
    login = guards.login_cookie()
    sent = request.form.get("token", "").encode("utf-8", "surrogatepass")
    if login is not None and not guards.is_token(sent, login.token):
        return render_template("login/form.html", wrong=True), 422
    if request.form.get("name", "").strip():
        try:
            people.remember(request.form["name"])
        except BadLabel as error:
            return render_template("login/form.html", wrong=False, message=str(error)), 422
    response = redirect(own_path(request.args.get("next", "")), 303)
    if login is not None:
        response.set_cookie(
            login.name(request.host),
            login.value(),
            max_age=LIFE,
            path=login.path,
            secure=login.secure,
            httponly=True,
            samesite="Lax",
        )
    return response


@blueprint.post("/logout")
def sign_out() -> Response:
    """Forget the browser's login; of another browser's nothing is forgotten."""
    response = redirect(url_for("login.form"), 303)
    login = guards.login_cookie()
    if login is not None:
        name = login.name(request.host)
        response.delete_cookie(name, login.path, secure=login.secure, httponly=True, samesite="Lax")
    return response


@blueprint.app_template_global()
def is_signed_in() -> bool:
    """Whether there is something to sign out of."""
    login = guards.login_cookie()
    return login is not None and login.is_in(request.cookies, request.host)
