"""Who may send what, decided as the app will, once a request's headers are there: before its body is spooled."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import sqlalchemy as sa
from flask import Flask
from werkzeug.exceptions import HTTPException

from webapp.config import Settings
from webapp.extensions import db
from webapp.store.accounts import api_tokens
from webapp.store.accounts.signing_in import NotAdmitted
from webapp.web import body_limits, guards, identity, proxies, tokens
from webapp.web.ids import hide_id, sent_path
from webapp.web.login_cookie import cookie_name, in_header
from webapp.web.prefix import without


class Admission:
    """Of one app, within whose context it is made. Headers are named as in CGI, without HTTP_.

    API tokens and rights are looked up in the database, so they are asked of large bodies alone.
    """

    def __init__(self, app: Flask) -> None:
        self.settings: Settings = app.config["SETTINGS"]
        self._app, self._engine = app, db.engine
        self._cookies = [kind for kind in (identity.login_cookie(), identity.account_cookie()) if kind is not None]

    def is_refused(self, method: str, address: str, path: str, headers: Mapping[str, str], peer: str) -> bool:
        """Whether the app will refuse it for its login or for want of a right; `address` is as it was sent."""
        if not self.settings.asks_login:
            return False
        return self._is_stranger(path, headers, peer) or (
            _is_large(headers) and self._lacks_right(method, address, headers, peer)
        )

    def _is_stranger(self, path: str, headers: Mapping[str, str], peer: str) -> bool:
        """Whether the app will refuse this request for its login."""
        if self.own_path(path) == "/login":
            return False
        sent = tokens.bearer(headers.get("AUTHORIZATION", ""))
        if sent is not None:
            return not self._is_token(sent, headers)
        header = (self.settings.proxy_header or "").upper().replace("-", "_")
        if proxies.account_name(self.settings, peer, headers.get(header, "")) is not None:
            return False
        value = in_header(headers.get("COOKIE", ""), cookie_name(headers.get("HOST", ""), self.settings))
        return not any(cookie.is_valid(value) for cookie in self._cookies)

    def _is_token(self, sent: bytes, headers: Mapping[str, str]) -> bool:
        if self.settings.token is not None and tokens.same(sent, self.settings.token):
            return True
        if not self.settings.accounts or not _is_large(headers):
            return False
        with self._engine.connect() as connection:
            return api_tokens.is_known(connection, sent)

    def _lacks_right(self, method: str, address: str, headers: Mapping[str, str], peer: str) -> bool:
        """What `guards.require_right` says to it without its body; where the database is away, nobody lacks one."""
        try:
            with self._app.request_context(_environ(method, address, headers, peer, self.settings.prefix)):
                return guards.require_right() is not None
        except (HTTPException, NotAdmitted):
            return True
        except sa.exc.SQLAlchemyError:
            return False  # the app says so, with its own words

    def most_bytes(self, path: str) -> int:
        return body_limits.most_bytes(self.own_path(path), self.settings)

    def words(self, path: str) -> str:
        return body_limits.words(self.own_path(path), self.settings)

    def own_path(self, path: str) -> str:
        """The path as the app's routes have it: without the prefix."""
        return without(path, self.settings.prefix)


def _is_large(headers: Mapping[str, str]) -> bool:
    """Whether the body may be more than one who is refused may send: it says so, or does not say how long it is."""
    length = headers.get("CONTENT_LENGTH", "")
    return "TRANSFER_ENCODING" in headers or (length.isdecimal() and int(length[:20]) > body_limits.REFUSED)


def _environ(method: str, address: str, headers: Mapping[str, str], peer: str, prefix: str) -> dict[str, Any]:
    """As the server and the middleware give it to the app, but for the body."""
    path, _, query = without(sent_path({"REQUEST_URI": address}), prefix).partition("?")
    return {
        **{f"HTTP_{name}": value for name, value in headers.items() if name not in ("CONTENT_LENGTH", "CONTENT_TYPE")},
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": prefix,
        "PATH_INFO": hide_id(path) or unquote(path, "latin-1"),
        "QUERY_STRING": query,
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": peer,
        "wsgi.url_scheme": "http",
        "wsgi.errors": sys.stderr,
    }
