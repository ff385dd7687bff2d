"""Behind a proxy: whom it may speak for, and the path under which the pages stand."""

from __future__ import annotations

import ipaddress
from typing import Any

from flask import Flask

from webapp.config import BadSetting, Settings
from webapp.web.links import sent_path


def parsed(address: str | None) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Without its zone, and of IPv4 where it was only written as IPv6; None where it is no address."""
    try:
        here = ipaddress.ip_address((address or "").partition("%")[0])
    except ValueError:
        return None
    return getattr(here, "ipv4_mapped", None) or here


def is_trusted(settings: Settings, address: str | None) -> bool:
    """Whether a connection's other end is one of `FENCEPOST_PROXIES`."""
    here = parsed(address)
    return here is not None and any(here in ipaddress.ip_network(network) for network in settings.proxies)


def account_name(settings: Settings, address: str | None, sent: str) -> str | None:
    """The account's name that the proxy says in its header, `sent`; None from anybody else, and where it says none."""
    if settings.proxy_header is None or not is_trusted(settings, address):
        return None
    try:
        name = sent.strip().encode("latin-1").decode("utf-8")
    except UnicodeError:
        return None
    return name or None


def client_address(settings: Settings, address: str | None, forwarded: str) -> str | None:
    """The nearest address that no trusted proxy has; further left in `X-Forwarded-For` anybody may write anything."""
    if not is_trusted(settings, address):
        return address
    for word in reversed(forwarded.split(",")):
        if word.strip() and not is_trusted(settings, word.strip()):
            return word.strip()[:64]
    return address


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
