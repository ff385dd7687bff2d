"""Who asks: by a bearer token, a cookie or a proxy; and limits on how often a peer may guess wrong."""

from __future__ import annotations

import hmac
import ipaddress
import logging
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import ceil

import sqlalchemy as sa
from flask import current_app, g, request
from werkzeug.exceptions import TooManyRequests

from webapp.config import Settings
from webapp.extensions import db
from webapp.store.accounts import accounts, api_tokens
from webapp.store.accounts.accounts import SignedIn
from webapp.web import login_cookie as cookies
from webapp.web import proxies
from webapp.web.login_cookie import Cookie, cookie_name

WRONG = 10
"""wrong guesses of one peer at one account, or at tokens …"""
WRONG_OF_PEER = 50
"""… and of one peer at everything …"""
WITHIN = 60.0
"""… within so many seconds"""
MOST_KEYS = 20_000


class Guesses:
    """The wrong guesses of the last minute, by peer and by what was guessed at. One a process, for all its threads.

    Nobody's guesses count against another peer, so that no stranger can lock somebody out.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._times: dict[tuple[str, ...], deque[float]] = {}

    def wait(self, peer: str | None, at: str) -> int:
        """Seconds until `peer` may guess `at` something (an account's key, "" for tokens) again; 0 where it may."""
        with self._lock:
            return self._wait(_keys(peer, at))

    def charge(self, peer: str | None, at: str) -> int:
        """As `wait`, and where it is 0 this is one guess more, in one step: of many at once no more than those pass."""
        keys = _keys(peer, at)
        with self._lock:
            if wait := self._wait(keys):
                return wait
            for key in keys:
                times = self._times.pop(key, None) or deque(maxlen=WRONG_OF_PEER)
                times.append(time.monotonic())
                self._times[key] = times  # at the end: the first is the one that was wrong longest ago
                if len(self._times) > MOST_KEYS:
                    del self._times[next(iter(self._times))]
            return 0

    def refund(self, peer: str | None, at: str) -> None:
        """What was charged last was right."""
        with self._lock:
            for key in _keys(peer, at):
                if times := self._times.get(key):
                    times.pop()

    def _wait(self, keys: tuple[tuple[str, ...], ...]) -> int:
        now, most = time.monotonic(), (WRONG_OF_PEER, WRONG)
        return max(_left(self._times.get(key), limit, now) for key, limit in zip(keys, most, strict=True))


def _keys(peer: str | None, at: str) -> tuple[tuple[str, ...], ...]:
    network = _network(peer)
    return (network,), (network, at)


def _left(times: deque[float] | None, most: int, now: float) -> int:
    if times is None or len(times) < most:
        return 0
    return max(0, ceil(times[-most] + WITHIN - now))


def _network(peer: str | None) -> str:
    """An IPv4 address, or the /64 network of an IPv6 one, of which one peer has as many addresses as it likes."""
    address = proxies.parsed(peer)
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address or peer or "")


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


OWN = "own"
"""for whoever signed in to an account, and for no API token: a token must not make another"""
ANYBODY = Identity(accounts.ALL, "no login asked for")


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
    sent = bearer(request.headers.get("Authorization", ""))
    if sent is not None:
        return of_bearer(sent)
    header = request.headers.get(settings.proxy_header or "", "")
    if (name := proxies.account_name(settings, request.remote_addr, header)) is not None:
        with db.engine.begin() as connection:
            return _of_account(accounts.by_proxy(connection, name, settings.newcomers), "proxy")
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
                _notes.submit(_write_use, db.engine, use.id)
            return Identity(use.rights, f"API token {use.name}", use.account, is_program=True)
    return Identity(accounts.ALL, "token", is_program=True) if is_servers(sent) else None


def is_servers(sent: bytes) -> bool:
    """Whether `sent` is the server's own token; a wrong one is a guess. Raises 429."""
    settings: Settings = current_app.config["SETTINGS"]
    is_right = settings.token is not None and same(sent, settings.token)
    _refuse((guesses().wait if is_right else guesses().charge)(peer(), ""))
    return is_right


def of_password(name: str, password: str) -> SignedIn | None:
    """Whose name and password these are; a wrong password is a guess at that account. Raises 429."""
    here = peer(), accounts.key(name)
    _refuse(guesses().charge(*here))
    with db.engine.begin() as connection:
        account = accounts.by_password(connection, name, password)
    if account is not None:
        guesses().refund(*here)
    return account


def _of_cookies(settings: Settings) -> Identity | None:
    sent = request.cookies.get(cookie_name(request.host, settings), "")
    login, cookie = login_cookie(), account_cookie()
    if login is not None and login.read(sent) == "":
        return Identity(accounts.ALL, "token", has_cookie=True)
    if cookie is None or (stamped := cookie.read(sent)) is None:
        return None
    with db.engine.connect() as connection:
        account = accounts.by_stamp(connection, *stamped)
    return None if account is None else _of_account(account, "sign-in", has_cookie=True)


def _of_account(account: SignedIn, via: str, *, has_cookie: bool = False) -> Identity:
    return Identity(accounts.ROLES[account.role] | {OWN}, via, account.name, has_cookie)


def login_cookie() -> Cookie | None:
    """What reads the cookies of who gave the server's token; None where there is no such token."""
    settings: Settings = current_app.config["SETTINGS"]
    return None if settings.token is None else cookies.of_token(current_app.config["SECRET_KEY"], settings.token)


def account_cookie() -> Cookie | None:
    """What reads the cookies of who signed in to an account; None where nobody is asked for one."""
    settings: Settings = current_app.config["SETTINGS"]
    return cookies.of_account(current_app.config["SECRET_KEY"]) if settings.accounts else None


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


_log = logging.getLogger("fencepost.accounts")
_notes = ThreadPoolExecutor(1, "fencepost-token-use")


def settle() -> None:
    """Wait until all that was noted is written."""
    _notes.submit(lambda: None).result()


def _write_use(engine: sa.Engine, number: int) -> None:
    """Note when a token was last used, once the database is free; one that was revoked meanwhile is passed over."""
    try:
        with engine.begin() as connection:
            api_tokens.note_use(connection, number)
    except sa.exc.SQLAlchemyError:
        _log.exception("the last use of API token %s was not recorded", number)
