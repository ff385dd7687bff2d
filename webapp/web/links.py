"""Addresses: session ids in them, the prefix, links to sessions and turns by id, else by key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import quote, urlencode, urlsplit

from flask import Flask, request, url_for
from werkzeug.routing import IntegerConverter, Map, PathConverter

from webapp.config import BadSetting

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:@=+~-]{0,126}[A-Za-z0-9]|[A-Za-z0-9]")


class Prefix:
    """WSGI middleware: links begin with the prefix; a path may come with it or without it, and end with a slash.

    `X-Forwarded-Prefix` is not read: the prefix is a setting, so that no request can choose where links lead. With
    `secure` links that stand outside pages begin with `https:`. A body is as long as its client said, or it was cut.
    """

    def __init__(self, app: Any, prefix: str, *, secure: bool) -> None:
        self.app, self.prefix, self.secure = app, prefix, secure

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        environ["SCRIPT_NAME"] = self.prefix
        environ["PATH_INFO"] = without(environ.get("PATH_INFO", ""), self.prefix).rstrip("/") or "/"
        if environ.get("CONTENT_LENGTH") and "HTTP_TRANSFER_ENCODING" not in environ:
            environ.pop("wsgi.input_terminated", None)  # gunicorn says so of a body whose client left: its bytes count
        if self.secure:
            environ["wsgi.url_scheme"] = "https"
        return self.app(environ, start_response)


class Int64Converter(IntegerConverter):
    """A whole number that a column can hold; a longer one names nothing, which is 404."""

    def __init__(self, map: Map, *args: Any, **options: Any) -> None:  # noqa: A002 - as werkzeug calls it
        super().__init__(map, *args, **{"max": 2**63 - 1} | options)


class SessionIdConverter(PathConverter):
    """A session's id or key. WSGI servers decode `%2F` before routing: an id may hold slashes, and line feeds."""

    regex = "(?s:.+?)"
    part_isolating = False


def is_plain(external_id: str) -> bool:
    """Whether an id can stand in a link as it is; every other session is linked by its key."""
    return _PLAIN.fullmatch(external_id) is not None and ".." not in external_id


class Linked(Protocol):
    """Anything that names a session."""

    @property
    def external_id(self) -> str: ...
    @property
    def key(self) -> str: ...
    @property
    def newest(self) -> bool: ...


def ident(session: Linked) -> str:
    """What stands for the session in a URL. The id means the newest revision, so an older one goes by its key."""
    return session.external_id if session.newest and is_plain(session.external_id) else session.key


def with_query(address: str, values: Mapping[str, Any]) -> str:
    """An address with these in its query, None is left out. Flask's own builder would take most of a page's time."""
    query = urlencode({name: value for name, value in values.items() if value is not None}, errors="surrogatepass")
    return f"{address}?{query}" if query else address


def session_url(session: Linked, **query: Any) -> str:
    return with_query(f"{request.script_root}/sessions/{quote(ident(session), safe='')}", query)


def turn_url(session: Linked, position: int, **query: Any) -> str:
    return with_query(f"{session_url(session)}/turns/{position}", query)


def dump_url(session: Linked) -> str:
    return url_for("sessions.download_dump", ident=ident(session))


def number_in(text: str | None) -> int | None:
    """The whole number that a part of an address is, of nine digits at most; None where it is none."""
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 10 else None


def own_path(path: str) -> str:
    """`path` where it is a path of this server, else the first page. It can stand in a header."""
    try:
        parts = urlsplit(path)
    except ValueError:  # "//[evil": no address at all
        return url_for("failures.index")
    root = f"{request.script_root}/"
    ours = path.startswith(root) and not path.startswith(("//", "/\\")) and not parts.scheme and not parts.netloc
    return in_header(path) if ours and path.isprintable() else url_for("failures.index")


def in_header(address: str) -> str:
    """`address` with each character quoted that no header holds: line feeds, and what is not ASCII."""
    return quote(address, safe="%/:?#[]@!$&'()*+,;=~", errors="replace")


def without(path: str, prefix: str) -> str:
    """`path` without the prefix where it begins with it."""
    rest = path.removeprefix(prefix)
    return rest if rest[:1] in ("", "/") else path


def init_app(app: Flask) -> None:
    """Put the middleware before the app.

    Raises `BadSetting` where the prefix is a page's own address: nobody could say which of the two is meant.
    """
    settings = app.config["SETTINGS"]
    first = settings.prefix.split("/")[1] if settings.prefix else ""
    if first and any(rule.rule.split("/")[1] == first for rule in app.url_map.iter_rules()):
        raise BadSetting(f"FENCEPOST_PREFIX cannot begin with /{first}: Fencepost has pages there")
    app.wsgi_app = Prefix(app.wsgi_app, settings.prefix, secure=settings.secure)  # type: ignore[method-assign]
