"""Signing in and out, on servers that ask for an account or a token."""

from __future__ import annotations

from flask import Blueprint, current_app, g, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from webapp.store.accounts.signing_in import SignedIn
from webapp.store.labels.label_content import BadLabel
from webapp.web import access, identity, people
from webapp.web.links import own_path
from webapp.web.login_cookie import LIFE, cookie_name

blueprint = Blueprint("login", __name__)


@blueprint.get("/login")
def form(**more: object) -> str:
    settings = current_app.config["SETTINGS"]
    is_open = not settings.asks_login
    context = {"accounts": settings.accounts, "token": settings.token or is_open, "oidc": settings.oidc_issuer}
    if settings.oidc_issuer and settings.newcomers != "none":
        context["newcomers"] = settings.newcomers
    return render_template("login/form.html", **context, **more)


@blueprint.post("/login")
def submit() -> Response | tuple[str, int]:
    """By an account's name and password where the form gives them, else by the server's token."""
    if current_app.config["SETTINGS"].accounts and "account" in request.form:
        return _by_password()
    login = identity.login_cookie()
    sent = request.form.get("token", "").encode("utf-8", "surrogatepass")
    if current_app.config["SETTINGS"].asks_login and (login is None or not identity.is_servers(sent)):
        return form(wrong="token"), 422
    if request.form.get("name", "").strip():
        try:
            people.remember(request.form["name"])
        except BadLabel as error:
            return form(message=str(error)), 422
    response = redirect(own_path(request.args.get("next", "")), 303)
    if login is None:
        return response
    g.signed_in = ""
    return with_cookie(response, login.value())


def _by_password() -> Response | tuple[str, int]:
    account = identity.of_password(request.form["account"], request.form.get("password", ""))
    return (form(wrong="account"), 422) if account is None else signed_in(account)


def signed_in(account: SignedIn, target: str | None = None) -> Response:
    """Go on to the page that was asked for, with the account's cookie."""
    cookie = identity.account_cookie()
    g.signed_in = account.name
    response = redirect(own_path(request.args.get("next", "") if target is None else target), 303)
    return response if cookie is None else with_cookie(response, cookie.value(account.id, account.stamp))


def with_cookie(response: Response, value: str) -> Response:
    settings = current_app.config["SETTINGS"]
    name, path = cookie_name(request.host, settings), settings.prefix or "/"
    response.set_cookie(name, value, max_age=LIFE, path=path, secure=settings.secure, httponly=True, samesite="Lax")
    return response


@blueprint.post("/logout")
def sign_out() -> Response:
    """Forget the browser's login; of another browser's nothing is forgotten."""
    response = redirect(url_for("login.form"), 303)
    settings = current_app.config["SETTINGS"]
    if settings.asks_login:
        name = cookie_name(request.host, settings)
        response.delete_cookie(name, settings.prefix or "/", secure=settings.secure, httponly=True, samesite="Lax")
    return response


@blueprint.app_template_global()
def is_signed_in() -> bool:
    """Whether there is something to sign out of."""
    who: identity.Identity | None = g.get("identity")
    return who is not None and who.has_cookie


@blueprint.app_template_global()
def may(right: str) -> bool:
    """Whether who asks has a right; where no login is asked for everybody has each."""
    who: identity.Identity | None = g.get("identity")
    return right in who.rights if who is not None else not current_app.config["SETTINGS"].asks_login


@blueprint.app_template_global()
def reads_alone() -> str:
    """What a page says in place of a form to who may not label."""
    return "Your account reads, and does not label: an admin can give it the role labeler."


@blueprint.app_template_global()
def may_open(endpoint: str) -> bool:
    """Whether who asks may open a page of accounts, on a server that asks for them."""
    who: identity.Identity | None = g.get("identity")
    return who is not None and current_app.config["SETTINGS"].accounts and access.RIGHT_OF[endpoint] in who.rights
