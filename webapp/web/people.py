"""Who labels: the name that a browser was asked for once."""

from __future__ import annotations

import getpass
from typing import Any

from flask import Blueprint, g, redirect, render_template, request
from flask import session as cookie
from werkzeug.wrappers import Response as AnyResponse

from webapp.store.labels.label_content import BadLabel, checked_author
from webapp.web import identity
from webapp.web.links import own_path

blueprint = Blueprint("name", __name__, url_prefix="/labels/name")


def author() -> str:
    """Who labels: the account that asks, else the name given last in this browser, else who runs the server."""
    return account_name() or str(cookie.get("author") or system_user())


def account_name() -> str | None:
    """The account that asks; None where the login is another, or there is none."""
    who: identity.Identity | None = g.get("identity")
    return None if who is None else who.name


def system_user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "somebody"


def is_named() -> bool:
    """Whether this browser was asked already, or need not be. A program that sends a token is nobody's browser."""
    who: identity.Identity | None = g.get("identity")
    if who is not None and who.name is not None:
        return not who.is_program
    return bool(cookie.get("author"))


def remember(name: str) -> None:
    """Keep the name in this browser; raises `BadLabel`, for another name than the account's too."""
    if checked_own(name) != account_name():
        cookie["author"] = checked_author(name)
        cookie.permanent = True


def checked_own(name: str) -> str:
    """The name as it is kept. Raises `BadLabel` where an account asks in another's name."""
    account = account_name()
    if account is not None and name.strip() != account:
        raise BadLabel(f"you are signed in as {account}, and labels are kept under that name")
    return checked_author(name)


@blueprint.app_context_processor
def name_author() -> dict[str, Any]:
    return {"author": author, "is_named": is_named, "account_name": account_name}


@blueprint.get("")
def ask() -> str:
    return render_template("labels/name.html", wanted=request.args.get("next", ""), message=None)


@blueprint.post("")
def tell() -> AnyResponse | tuple[str, int]:
    next_page = request.form.get("next", "")
    try:
        remember(request.form.get("name", ""))
    except BadLabel as error:
        return render_template("labels/name.html", wanted=next_page, message=str(error)), 422
    return redirect(own_path(next_page), 303)
