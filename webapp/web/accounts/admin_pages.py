"""Everybody's accounts and API tokens, for admins."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from webapp.extensions import db
from webapp.store.accounts import accounts, api_tokens, roles
from webapp.store.accounts.accounts import BadAccount
from webapp.store.accounts.passwords import BadPassword
from webapp.store.accounts.roles import BadRole
from webapp.web.accounts import audit_trail, token_use

blueprint = Blueprint("accounts", __name__, url_prefix="/accounts")


@blueprint.get("")
def index(**more: Any) -> str:
    token_use.settle()
    with db.engine.connect() as connection:
        lines, tokens = accounts.lines(connection), api_tokens.lines(connection)
    return render_template("accounts/index.html", accounts=lines, tokens=tokens, roles=list(roles.ROLES), **more)


@blueprint.post("")
def add() -> Response | tuple[str, int]:
    form = request.form
    try:
        with db.engine.begin() as connection:
            name, role = form.get("name", ""), form.get("role", "")
            accounts.add(connection, name, role, password=form.get("password") or None)
    except (BadAccount, BadPassword, BadRole) as error:
        return index(message=f"{error}."), 422
    return redirect(url_for("accounts.index"), 303)


@blueprint.post("/<int:number>")
def change(number: int) -> Response | tuple[str, int]:
    """Give another role, and another password where one is typed."""
    role, password = request.form.get("role", ""), request.form.get("password")
    try:
        with db.engine.begin() as connection:
            line = accounts.by_number(connection, number)
            audit_trail.about(account=line.name)
            if role not in ("", "admin"):
                accounts.keep_an_admin(connection, number)
            accounts.set_role(connection, number, role or line.role)
            if password:
                accounts.set_password(connection, number, password)
    except (BadAccount, BadPassword, BadRole) as error:
        return index(message=f"{error}."), 422
    return redirect(url_for("accounts.index"), 303)


@blueprint.post("/<int:number>/remove")
def remove(number: int) -> Response | tuple[str, int]:
    try:
        with db.engine.begin() as connection:
            audit_trail.about(account=accounts.by_number(connection, number).name)
            accounts.keep_an_admin(connection, number)
            accounts.remove(connection, number)
    except BadAccount as error:
        return index(message=f"{error}."), 422
    return redirect(url_for("accounts.index"), 303)


@blueprint.post("/tokens/<int:number>/revoke")
def revoke(number: int) -> Response:
    with db.engine.begin() as connection:
        api_tokens.revoke(connection, number)
    return redirect(url_for("accounts.index"), 303)
