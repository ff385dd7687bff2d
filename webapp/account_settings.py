"""The settings of accounts: who comes without one, by which provider and through which proxies."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Any

NEWCOMERS = ("none", "reader", "labeler")
"""roles for who comes without an account; an admin is made by hand alone"""
_OIDC = ("oidc_issuer", "oidc_client", "oidc_secret")
_NAMES = ("newcomers", "proxies", "proxy_header", *_OIDC)


class BadSetting(ValueError):
    """A setting cannot be read; the message names the variable and what it takes."""


def read(environ: Mapping[str, str], *, is_on: bool) -> dict[str, Any]:
    """What is set, by the names of `Settings`; raises `BadSetting`, without accounts for anything."""
    settings = {name: value for name in _NAMES if (value := environ.get(f"FENCEPOST_{name.upper()}"))}
    of_accounts = [name for name in settings if name != "proxies" or not environ.get("FENCEPOST_TOKEN")]
    if of_accounts and not is_on:
        raise BadSetting(f"FENCEPOST_{of_accounts[0].upper()} has no effect without FENCEPOST_ACCOUNTS=1")
    if settings.get("newcomers", "none") not in NEWCOMERS:
        raise BadSetting(f"FENCEPOST_NEWCOMERS takes {', '.join(NEWCOMERS)}, not {settings['newcomers']!r}")
    _check_provider(settings)
    proxies = _networks(settings.pop("proxies", ""))
    _check_header(settings.get("proxy_header"), proxies)
    return {"proxies": proxies, **settings}


def _check_provider(settings: Mapping[str, str]) -> None:
    if any(name in settings for name in _OIDC) and not all(name in settings for name in _OIDC):
        raise BadSetting("FENCEPOST_OIDC_ISSUER, _CLIENT and _SECRET go together: set all three, or none")
    issuer = settings.get("oidc_issuer", "https://")
    if not issuer.startswith(("https://", "http://127.0.0.1:", "http://localhost:")):
        raise BadSetting("FENCEPOST_OIDC_ISSUER must be an address that begins with https://")


def _check_header(header: str | None, proxies: tuple[str, ...]) -> None:
    if header is not None and not proxies:
        raise BadSetting("FENCEPOST_PROXY_HEADER needs FENCEPOST_PROXIES: who may send that header")
    if header is not None and not re.fullmatch(r"[A-Za-z0-9-]+", header):
        raise BadSetting("FENCEPOST_PROXY_HEADER must be the name of a header, such as X-Remote-User")


def _networks(text: str) -> tuple[str, ...]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    try:
        return tuple(str(ipaddress.ip_network(word)) for word in words)
    except ValueError as error:
        raise BadSetting(f"FENCEPOST_PROXIES must be addresses or networks such as 10.0.0.0/8: {error}") from None
