"""Whether who asks has the right to, found out before the body of their request is read, by what the app asks then."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

import sqlalchemy as sa
from flask import Flask
from werkzeug.exceptions import HTTPException

from webapp.store.accounts.signing_in import NotAdmitted
from webapp.web import guards
from webapp.web.ids import hide_id, sent_path
from webapp.web.prefix import without

LacksRight = Callable[[str, str, Mapping[str, str], str], bool]
"""of the method, the address as it was sent, the headers (as in CGI, without HTTP_) and the peer"""


def asking(app: Flask) -> LacksRight:
    """Asks what `guards.require_right` says to a request without its body; where the database is away, nobody lacks."""

    def lacks_right(method: str, address: str, headers: Mapping[str, str], peer: str) -> bool:
        environ = _environ(method, address, headers, peer, app.config["SETTINGS"].prefix)
        try:
            with app.request_context(environ):
                return guards.require_right() is not None
        except (HTTPException, NotAdmitted):
            return True
        except sa.exc.SQLAlchemyError:
            return False  # the app says so, with its own words

    return lacks_right


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
