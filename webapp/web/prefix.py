"""A path prefix: all pages of Fencepost under `/fencepost` of a host that a proxy shares among programs."""

from __future__ import annotations

from typing import Any

from flask import Flask

from webapp.config import BadSetting
from webapp.web.ids import sent_path

_PATHS = ("REQUEST_URI", "RAW_URI")
"""where servers keep the path as it was sent, with the query"""


class PathPrefix:
    """WSGI middleware: links begin with the prefix, and a path may come with it or without it.

    `X-Forwarded-Prefix` is not read: the prefix is a setting, so that no request can choose where links lead. With
    `secure` links that stand outside pages begin with `https:`.
    """

    def __init__(self, app: Any, prefix: str, *, secure: bool) -> None:
        self.app, self.prefix, self.secure = app, prefix, secure

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        environ["SCRIPT_NAME"] = self.prefix
        environ["PATH_INFO"] = without(environ.get("PATH_INFO", ""), self.prefix)
        if sent := sent_path(environ):
            environ |= {name: without(sent, self.prefix) for name in _PATHS if name in environ}
        if self.secure:
            environ["wsgi.url_scheme"] = "https"
        return self.app(environ, start_response)


def without(path: str, prefix: str) -> str:
    """`path`, which may have a query, without the prefix where it begins with it."""
    rest = path.removeprefix(prefix)
    if prefix and rest != path and rest[:1] in ("", "/", "?"):
        return rest if rest.startswith("/") else f"/{rest}"
    return path


def init_app(app: Flask) -> None:
    """Raises `BadSetting` where the prefix is a page's own address: nobody could say which of the two is meant."""
    settings = app.config["SETTINGS"]
    first = settings.prefix.split("/")[1] if settings.prefix else ""
    if first and any(rule.rule.split("/")[1] == first for rule in app.url_map.iter_rules()):
        raise BadSetting(f"FENCEPOST_PREFIX cannot begin with /{first}: Fencepost has pages there")
    app.wsgi_app = PathPrefix(app.wsgi_app, settings.prefix, secure=settings.secure)  # type: ignore[method-assign]
