"""Who labels: the name that a browser was asked for once."""

from __future__ import annotations

import getpass
from typing import Any

from flask import Blueprint, redirect, render_template, request
from flask import session as cookie
from werkzeug.wrappers import Response as AnyResponse

from webapp.store.labels.label_content import BadLabel, checked_author
from webapp.web.links import own_path

blueprint = Blueprint("name", __name__, url_prefix="/labels/name")


def author() -> str:
    """Who labels: the name given last in this browser, else the user that runs the server."""
    return str(cookie.get("author") or system_user())


def system_user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "somebody"


def is_named() -> bool:
    """Whether this browser was asked already."""
    return bool(cookie.get("author"))


def remember(name: str) -> None:
    """Keep the name in this browser; raises `BadLabel`."""
    cookie["author"] = checked_author(name)
    cookie.permanent = True


@blueprint.app_context_processor
def name_author() -> dict[str, Any]:
    return {"author": author, "is_named": is_named}


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
