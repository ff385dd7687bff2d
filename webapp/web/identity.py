"""Who asks: found once a request, from its bearer token, the trusted proxy's header or its login cookie."""

from __future__ import annotations

from dataclasses import dataclass

from flask import current_app, g, request
from werkzeug.exceptions import TooManyRequests

from webapp.config import Settings
from webapp.extensions import db
from webapp.store.accounts import accounts, api_tokens, roles, signing_in
from webapp.store.accounts.signing_in import SignedIn
from webapp.web import proxies, tokens
from webapp.web.access import OWN
from webapp.web.accounts import token_use
from webapp.web.guessing import Guesses
from webapp.web.login_cookie import AccountCookie, LoginCookie, cookie_name


@dataclass(frozen=True, slots=True)
class Identity:
    """Who asks, and their rights. `name` is None where that is no account's."""

    rights: frozenset[str]
    via: str
    name: str | None = None
    has_cookie: bool = False
    """whether there is something to sign out of"""
    is_program: bool = False


ANYBODY = Identity(roles.ALL, "no login asked for")


def current() -> Identity | None:
    """Who asks; None for a stranger. Raises 429 for a peer that was wrong too often, `NotAdmitted`."""
    if "identity" not in g:
        g.identity = _find()
    identity: Identity | None = g.identity
    return identity


def _find() -> Identity | None:
    settings: Settings = current_app.config["SETTINGS"]
    if not settings.asks_login:
        return ANYBODY
    sent = tokens.bearer(request.headers.get("Authorization", ""))
    if sent is not None:
        return of_bearer(sent)
    header = request.headers.get(settings.proxy_header or "", "")
    if (name := proxies.account_name(settings, request.remote_addr, header)) is not None:
        with db.engine.begin() as connection:
            return _of_account(signing_in.by_proxy(connection, name, settings.newcomers), "proxy")
    return _of_cookies(settings)


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
                token_use.note(db.engine, use.id)
            return Identity(use.rights, f"API token {use.name}", use.account, is_program=True)
    return Identity(roles.ALL, "token", is_program=True) if is_servers(sent) else None


def is_servers(sent: bytes) -> bool:
    """Whether `sent` is the server's own token; a wrong one is a guess. Raises 429."""
    settings: Settings = current_app.config["SETTINGS"]
    is_right = settings.token is not None and tokens.same(sent, settings.token)
    _refuse((guesses().wait if is_right else guesses().charge)(peer(), ""))
    return is_right


def of_password(name: str, password: str) -> SignedIn | None:
    """Whose name and password these are; a wrong password is a guess at that account. Raises 429."""
    here = peer(), accounts.key(name)
    _refuse(guesses().charge(*here))
    with db.engine.begin() as connection:
        account = signing_in.by_password(connection, name, password)
    if account is not None:
        guesses().refund(*here)
    return account


def _of_cookies(settings: Settings) -> Identity | None:
    sent = request.cookies.get(cookie_name(request.host, settings), "")
    login, cookie = login_cookie(), account_cookie()
    if login is not None and login.is_valid(sent):
        return Identity(roles.ALL, "token", has_cookie=True)
    if cookie is None or (stamped := cookie.read(sent)) is None:
        return None
    with db.engine.connect() as connection:
        account = signing_in.by_stamp(connection, *stamped)
    return None if account is None else _of_account(account, "sign-in", has_cookie=True)


def _of_account(account: SignedIn, via: str, *, has_cookie: bool = False) -> Identity:
    return Identity(roles.ROLES[account.role] | {OWN}, via, account.name, has_cookie)


def login_cookie() -> LoginCookie | None:
    """What reads the cookies of who gave the server's token; None where there is no such token."""
    settings: Settings = current_app.config["SETTINGS"]
    return None if settings.token is None else LoginCookie(current_app.config["SECRET_KEY"], settings.token)


def account_cookie() -> AccountCookie | None:
    """What reads the cookies of who signed in to an account; None where nobody is asked for one."""
    settings: Settings = current_app.config["SETTINGS"]
    return AccountCookie(current_app.config["SECRET_KEY"]) if settings.accounts else None


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
    return proxies.client_address(settings, request.remote_addr, request.headers.get("X-Forwarded-For", ""))
