"""Who asks: by a bearer token, a cookie or a proxy; who labels; signing in; and the session, signed in a cookie."""

from __future__ import annotations

import hmac
import os
import re
import secrets
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from flask import Flask, abort, current_app, g, redirect, request, url_for
from flask import session as cookie
from flask.sessions import SecureCookieSessionInterface
from sqlalchemy.exc import OperationalError
from werkzeug.exceptions import TooManyRequests
from werkzeug.wrappers import Response

from webapp.config import Settings
from webapp.extensions import db
from webapp.store.accounts import accounts, api_tokens
from webapp.store.db import database
from webapp.store.db.dialect import hurried
from webapp.store.labels.label_content import BadLabel, checked_author, system_user
from webapp.store.models import Account
from webapp.web import peers
from webapp.web.links import own_path
from webapp.web.peers import Guesses
from webapp.web.rights import OWN


def bearer(header: str) -> bytes | None:
    """The token of an `Authorization: Bearer …` header, which WSGI gives as Latin-1; None where it is none."""
    scheme, _, sent = header.partition(" ")
    return sent.strip().encode("latin-1", "replace") if scheme.lower() == "bearer" else None


def same(sent: bytes, token: str) -> bool:
    """Whether `sent` is `token` in UTF-8, in a time that says nothing of where they differ."""
    return hmac.compare_digest(sent, token.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class Identity:
    """Who asks, and their rights. `name` is None where that is no account's."""

    rights: frozenset[str]
    via: str
    name: str | None = None
    has_cookie: bool = False
    """whether there is something to sign out of"""
    is_program: bool = False


ANYBODY = Identity(accounts.ALL, "no login asked for")


def author() -> str:
    """Who labels: the account that asks, else the name given last in this browser, else who runs the server."""
    return account_name() or str(cookie.get("author") or system_user())


def account_name() -> str | None:
    """The account that asks; None where the login is another, or there is none."""
    who: Identity | None = g.get("identity")
    return None if who is None else who.name


def is_named() -> bool:
    """Whether this browser was asked already, or need not be. A program that sends a token is nobody's browser."""
    who: Identity | None = g.get("identity")
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


def current() -> Identity | None:
    """Who asks; None for a stranger. Raises 429 for a peer that was wrong too often, `NotAdmitted`."""
    if "identity" not in g:
        g.identity = _find()
    identity: Identity | None = g.identity
    return identity


def demand(who: Identity, asked: Iterable[str]) -> None:
    """Raises 403 where who asks has not all of these rights."""
    right = next((right for right in asked if right not in who.rights), None)
    if right == "":
        abort(403, "No rule allows this address to anyone.")
    if right == OWN:
        abort(403, "Sign in to an account for this; a token is not enough.")
    if right is not None:
        holder = f"The account {who.name}" if who.name and not who.is_program else "This token"
        abort(403, f"{holder} does not have the right “{right}” here: {accounts.RIGHTS[right]}.")


def _find() -> Identity | None:
    settings: Settings = current_app.config["SETTINGS"]
    if not settings.asks_login:
        return ANYBODY
    sent = bearer(request.headers.get("Authorization", ""))
    if sent is not None:
        return of_bearer(sent)
    header = request.headers.get(settings.proxy_header or "", "")
    if (name := peers.account_name(settings, request.remote_addr, header)) is not None:
        with db.engine.begin() as connection:
            return _of_account(accounts.by_proxy(connection, name, settings.newcomers), "proxy")
    return _of_session(settings)


def of_bearer(sent: bytes) -> Identity | None:
    """Whose token `sent` is: an account's, or the server's own; None where it is nobody's.

    An account's token, which nobody can guess, is taken whoever was wrong before.
    """
    settings: Settings = current_app.config["SETTINGS"]
    if settings.accounts:
        with db.engine.connect() as connection:
            use = api_tokens.find(connection, sent)
        if use is not None:
            if not use.is_noted:
                with suppress(OperationalError), db.engine.begin() as connection, hurried(connection):
                    api_tokens.note_use(connection, use.id)  # the next request does where the database is busy
            return Identity(use.rights, f"API token {use.name}", use.account, is_program=True)
    return Identity(accounts.ALL, "token", is_program=True) if is_servers(sent) else None


def is_servers(sent: bytes) -> bool:
    """Whether `sent` is the server's own token; a wrong one is a guess. Raises 429."""
    settings: Settings = current_app.config["SETTINGS"]
    here = peer(), ""
    _refuse(guesses().charge(*here))
    is_right = settings.token is not None and same(sent, settings.token)
    if is_right:
        guesses().refund(*here)
    return is_right


def of_password(name: str, password: str) -> Account | None:
    """Whose name and password these are; a wrong password is a guess at that account. Raises 429."""
    here = peer(), accounts.key(name)
    _refuse(guesses().charge(*here))
    with db.engine.begin() as connection:
        account = accounts.by_password(connection, name, password)
    if account is not None:
        guesses().refund(*here)
    return account


def _of_session(settings: Settings) -> Identity | None:
    """Who signed in within this browser, less than a day ago."""
    began, *who = cookie.get(_LOGIN, [0])
    if not 0 <= time.time() - began <= LIFE:
        return None
    if settings.token is not None and who == [_mark(settings.token)]:
        return Identity(accounts.ALL, "token", has_cookie=True)
    if not settings.accounts or len(who) != 2:
        return None
    with db.engine.connect() as connection:
        account = accounts.by_stamp(connection, *who)
    return None if account is None else _of_account(account, "sign-in", has_cookie=True)


def _of_account(account: Account, via: str, *, has_cookie: bool = False) -> Identity:
    return Identity(accounts.ROLES[account.role] | {OWN}, via, account.name, has_cookie)


def guesses() -> Guesses:
    """The wrong tokens and passwords of the last minute."""
    guesses_now: Guesses = current_app.extensions.setdefault("fencepost_guesses", Guesses())
    return guesses_now


def _refuse(wait: int) -> None:
    if wait:
        reason = "Too many wrong tokens or passwords came from here. Try again in a minute."
        raise TooManyRequests(reason, retry_after=wait)


def peer() -> str | None:
    """The address that asks: behind a trusted proxy the one that the proxy names."""
    settings: Settings = current_app.config["SETTINGS"]
    return peers.client_address(settings, request.remote_addr, request.headers.get("X-Forwarded-For", ""))


LIFE = 24 * 3600
"""seconds until a browser has to sign in again"""
_LOGIN = "login"


def signed_in(account: Account, target: str | None = None) -> Response:
    """Go on to the page that was asked for, as this account; another stamp of it ends the login."""
    return _begin_login(account.name, [account.id, account.stamp], target)


def signed_in_by_token(token: str) -> Response:
    """As `signed_in`, for who gave the server's token; another token ends the login. The token itself is not kept."""
    return _begin_login("", [_mark(token)], None)


def _begin_login(name: str, who: list[Any], target: str | None) -> Response:
    g.signed_in = name
    cookie[_LOGIN] = [int(time.time()), *who]
    cookie.permanent = True
    return redirect(own_path(request.args.get("next", "") if target is None else target), 303)


def _mark(token: str) -> str:
    """What only who has the secret key can make of a token."""
    key: bytes = current_app.config["SECRET_KEY"]
    return hmac.digest(key, b"fencepost login\0" + token.encode("utf-8", "surrogatepass"), "sha256").hex()


def signed_out() -> Response:
    """To the form for signing in, without this browser's login; of another browser's nothing is forgotten."""
    cookie.pop(_LOGIN, None)
    return redirect(url_for("login.form"), 303)


class ServerSessions(SecureCookieSessionInterface):
    """A cookie of this server's own: browsers send cookies to every port of a host."""

    def get_cookie_name(self, app: Flask) -> str:
        settings = app.config["SETTINGS"]
        port = re.search(r":(\d{1,5})\Z", request.host)
        name = f"fencepost-{port[1]}" if port else "fencepost"
        if not settings.secure:
            return name
        return f"__Secure-{name}" if settings.prefix else f"__Host-{name}"  # browsers take it for the whole host alone


KEY_BYTES = 32


def secret_key(settings: Settings, engine: sa.Engine) -> bytes:
    """The key that was set; else PostgreSQL keeps one for all its machines, and each data folder one of its own."""
    if settings.secret_key is not None:
        return settings.secret_key.encode("utf-8", "surrogateescape")
    if engine.dialect.name == "postgresql":
        return database.shared_secret(engine, "secret_key", secrets.token_bytes(KEY_BYTES))
    return key_in(settings.data / "secret_key")


def key_in(path: Path) -> bytes:
    """The key kept in `path`, made at random on the first run and readable by its owner alone.

    It is linked into place whole, so that of two servers that start at once both read the same key. A key that a full
    disk or a hand left short is made anew, since anybody may guess it: who was signed in signs in again.
    """
    if path.exists() and path.stat().st_size < KEY_BYTES:
        path.unlink(missing_ok=True)
    if not path.exists():
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
        with suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
    return path.read_bytes()
