"""Accounts: one's own (password, API tokens, logins), and everybody's for admins."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import sqlalchemy as sa
from flask import Blueprint, redirect, render_template, request, url_for
from werkzeug.exceptions import Forbidden
from werkzeug.wrappers import Response

from webapp.extensions import db
from webapp.store.accounts import accounts, api_tokens
from webapp.store.accounts.accounts import BadAccount, BadPassword, BadRole
from webapp.web import audit_trail, identity

blueprint = Blueprint("account", __name__, url_prefix="/account")


@blueprint.get("")
def show(**more: Any) -> str:
    line = _line()
    with db.engine.connect() as connection:
        tokens = api_tokens.lines(connection, line.id)
    rights = {right: words for right, words in accounts.RIGHTS.items() if right in accounts.ROLES[line.role]}
    changed = request.args.get("changed", "")
    return render_template("accounts/own.html", account=line, tokens=tokens, rights=rights, changed=changed, **more)


@blueprint.post("/password")
def set_password() -> Response:
    """Another password, for who knows the present one; this browser stays signed in, every other signs in again."""
    line, form = _line(), request.form
    if form.get("password", "") != form.get("again", ""):
        raise BadPassword("The two new passwords differ")
    if line.has_password and identity.of_password(line.name, form.get("present", "")) is None:
        raise BadPassword("The current password is wrong")
    with db.engine.begin() as connection:
        accounts.set_password(connection, line.id, form.get("password", ""))
        account = accounts.by_name(connection, line.name)
    if account is None:
        raise BadAccount("This account was removed meanwhile")
    return identity.signed_in(account, url_for("account.show", changed="password"))


@blueprint.post("/tokens")
def make_token() -> str:
    """Make an API token, and show it this once."""
    with db.engine.begin() as connection:
        title, scopes = request.form.get("name", ""), request.form.getlist("scope")
        new_token = api_tokens.make(connection, _line().id, title, scopes)
    return show(made=new_token)


@blueprint.post("/tokens/<int:number>/revoke")
def revoke_token(number: int) -> Response:
    with db.engine.begin() as connection:
        api_tokens.revoke(connection, number, account_id=_line().id)
    return redirect(url_for("account.show", changed="token"), 303)


@blueprint.post("/logins/end")
def end_logins() -> Response:
    """Sign out of every browser, this one too."""
    with db.engine.begin() as connection:
        accounts.end_logins(connection, _line().id)
    return identity.signed_out()


def _line() -> sa.Row[Any]:
    who = identity.current()
    if who is None or who.name is None:
        raise Forbidden("Sign in to an account for this.")
    with db.engine.connect() as connection:
        return accounts.find(connection, who.name)


admin_blueprint = Blueprint("accounts", __name__, url_prefix="/accounts")


@admin_blueprint.get("")
def index(**more: Any) -> str:
    with db.engine.connect() as connection:
        lines, tokens = accounts.lines(connection), api_tokens.lines(connection)
    return render_template("accounts/index.html", accounts=lines, tokens=tokens, roles=list(accounts.ROLES), **more)


@admin_blueprint.post("")
def add() -> Response:
    form = request.form
    with db.engine.begin() as connection:
        accounts.add(connection, form.get("name", ""), form.get("role", ""), password=form.get("password") or None)
    return redirect(url_for("accounts.index"), 303)


@admin_blueprint.post("/<int:number>")
def change(number: int) -> Response:
    """Give another role, and another password where one is typed."""
    role, password = request.form.get("role", ""), request.form.get("password")
    with db.engine.begin() as connection:
        line = accounts.find(connection, number)
        audit_trail.about(account=line.name)
        if role not in ("", "admin"):
            accounts.keep_an_admin(connection, number)
        accounts.set_role(connection, number, role or line.role)
        if password:
            accounts.set_password(connection, number, password)
    return redirect(url_for("accounts.index"), 303)


@admin_blueprint.post("/<int:number>/remove")
def remove(number: int) -> Response:
    with db.engine.begin() as connection:
        audit_trail.about(account=accounts.find(connection, number).name)
        accounts.keep_an_admin(connection, number)
        accounts.remove(connection, number)
    return redirect(url_for("accounts.index"), 303)


@admin_blueprint.post("/tokens/<int:number>/revoke")
def revoke(number: int) -> Response:
    with db.engine.begin() as connection:
        api_tokens.revoke(connection, number)
    return redirect(url_for("accounts.index"), 303)


def _refused(page: Callable[..., str], error: ValueError) -> tuple[str, int]:
    """What cannot be done, in its words on the page of the form."""
    words = str(error)
    return page(message=f"{words[:1].upper()}{words[1:]}."), 422


for refusal in (BadAccount, BadPassword, BadRole):
    blueprint.register_error_handler(refusal, partial(_refused, show))
    admin_blueprint.register_error_handler(refusal, partial(_refused, index))
