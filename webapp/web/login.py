"""Signing in and out, on servers that ask for an account or a token."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flask import Blueprint, abort, current_app, g, redirect, render_template, request, url_for
from flask import session as cookie
from werkzeug.exceptions import BadGateway, Forbidden, ServiceUnavailable
from werkzeug.wrappers import Response

from webapp.config import Settings
from webapp.extensions import db
from webapp.installation import MissingLibrary, install_extra
from webapp.store.accounts import accounts
from webapp.store.accounts.accounts import BadAccount
from webapp.store.labels.label_content import BadLabel
from webapp.web import audit_trail, identity, rights
from webapp.web.links import own_path

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
    settings: Settings = current_app.config["SETTINGS"]
    if settings.accounts and "account" in request.form:
        account = identity.of_password(request.form["account"], request.form.get("password", ""))
        return (form(wrong="account"), 422) if account is None else identity.signed_in(account)
    sent = request.form.get("token", "").encode("utf-8", "surrogatepass")
    if settings.asks_login and (settings.token is None or not identity.is_servers(sent)):
        return form(wrong="token"), 422
    if request.form.get("name", "").strip():
        try:
            identity.remember(request.form["name"])
        except BadLabel as error:
            return form(message=str(error)), 422
    if settings.token is None:
        return redirect(own_path(request.args.get("next", "")), 303)
    return identity.signed_in_by_token(settings.token)


@blueprint.post("/logout")
def sign_out() -> Response:
    """Forget the browser's login."""
    return identity.signed_out()


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
def allows(endpoint: str) -> bool:
    """Whether who asks has the rights that a route asks for: a form that would be refused is not shown."""
    who: identity.Identity | None = g.get("identity")
    return who is None or who.rights.issuperset(rights.needed(endpoint))


@blueprint.app_template_global()
def may_open(endpoint: str) -> bool:
    """Whether who asks may open a page of accounts, on a server that asks for them."""
    who: identity.Identity | None = g.get("identity")
    return who is not None and current_app.config["SETTINGS"].accounts and rights.RIGHT_OF[endpoint] in who.rights


oidc_blueprint = Blueprint("oidc", __name__, url_prefix="/login/oidc")
TIMEOUT = 4
"""seconds for each piece of an answer of the provider"""
_TURNS = threading.BoundedSemaphore(2)
"""requests that wait for the provider at once: strangers may ask for it, and each holds a thread"""
_KEY, _NEXT = "fencepost_oidc", "oidc_next"


@oidc_blueprint.get("")
def begin() -> Response:
    """Send the browser to the provider. The page to go to after it waits in this browser's session."""
    cookie[_NEXT] = own_path(request.args.get("next", ""))
    client = _client()
    with _trouble():
        answer: Response = client.authorize_redirect(url_for("oidc.finish", _external=True))
    return answer


@oidc_blueprint.get("/finish")
def finish() -> Response:
    """The provider sent the browser back: check what it says, and sign in whom it names."""
    settings: Settings = current_app.config["SETTINGS"]
    client = _client()
    with _trouble():
        claims = _claims(client, settings, client.load_server_metadata().get("issuer"))
    subject = f"{settings.oidc_issuer} {claims['sub']}"
    if len(subject) > 600:
        raise Forbidden("The provider's name for you is too long to store.")
    audit_trail.about(subject=subject)
    try:
        with db.engine.begin() as connection:
            account = accounts.by_subject(connection, subject, _name(claims), settings.newcomers)
    except BadAccount as error:
        raise Forbidden(f"No account was made for you: {error}. An admin can make one by hand.") from None
    audit_trail.about(account=account.name)
    return identity.signed_in(account, cookie.pop(_NEXT, ""))


def _claims(client: Any, settings: Settings, issuer: Any) -> dict[str, Any]:
    """What the ID token says, its signature, nonce, issuer, audience and time checked; raises as `_trouble` knows."""
    if issuer != settings.oidc_issuer:
        raise ValueError(f"it calls itself {str(issuer)[:200]!r}, not what FENCEPOST_OIDC_ISSUER says")
    options = {
        "iss": {"essential": True, "value": issuer},
        "sub": {"essential": True},
        "aud": {"essential": True, "value": settings.oidc_client},
    }
    claims: dict[str, Any] | None = client.authorize_access_token(claims_options=options).get("userinfo")
    if claims is None:
        raise ValueError("it sent no ID token")
    return claims


def _name(claims: dict[str, Any]) -> str:
    names = (claims.get(name) for name in ("preferred_username", "email", "name"))
    return next((name for name in names if isinstance(name, str) and name.strip()), str(claims["sub"]))


def _client() -> Any:
    """This app's client of the provider; 404 where none is set, `MissingLibrary` without Authlib."""
    settings: Settings = current_app.config["SETTINGS"]
    if settings.oidc_issuer is None:
        abort(404, "This server has no OpenID provider. Set FENCEPOST_OIDC_ISSUER.")
    if _KEY not in current_app.extensions:
        current_app.extensions[_KEY] = _registered(settings)
    return current_app.extensions[_KEY]


def _registered(settings: Settings) -> Any:
    try:
        from authlib.integrations.flask_client import OAuth
    except ModuleNotFoundError:
        raise MissingLibrary(f"OpenID needs Authlib: {install_extra('oidc')}") from None
    return OAuth(current_app).register(
        "oidc",
        client_id=settings.oidc_client,
        client_secret=settings.oidc_secret,
        server_metadata_url=f"{str(settings.oidc_issuer).rstrip('/')}/.well-known/openid-configuration",
        client_kwargs={
            "scope": "openid profile email",
            "code_challenge_method": "S256",
            "default_timeout": TIMEOUT,
            "max_redirects": 1,
        },
    )


def _not_signed_in(error: Exception) -> str:
    if getattr(error, "error", "") == "mismatching_state":
        return "You are not signed in. This browser did not begin this sign-in, or ended it already."
    return f"You are not signed in. The OpenID provider says: {str(error)[:300].rstrip('.')}."


@contextmanager
def _trouble() -> Iterator[None]:
    """Says in words what a provider did wrong: 502 where it cannot be used, 403 where it refuses or is not believed.

    503 where others wait for it already.
    """
    import requests
    from authlib.common.errors import AuthlibBaseError
    from joserfc.errors import JoseError

    if not _TURNS.acquire(blocking=False):
        raise ServiceUnavailable("Others are signing in with the OpenID provider. Try again.", retry_after=TIMEOUT)
    try:
        yield
    except requests.RequestException as error:
        current_app.logger.warning("the OpenID provider: %s", error)
        raise BadGateway("The OpenID provider cannot be reached, or answers with an error.") from error
    except (AuthlibBaseError, JoseError, ValueError, RuntimeError, TypeError) as error:
        current_app.logger.warning("the OpenID provider: %s", error)
        raise Forbidden(_not_signed_in(error)) from error
    finally:
        _TURNS.release()
