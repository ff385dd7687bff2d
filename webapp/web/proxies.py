"""What a trusted proxy says of who asks: their account's name, and the address that they come from."""

from __future__ import annotations

import ipaddress

from webapp.config import Settings


def is_trusted(settings: Settings, address: str | None) -> bool:
    """Whether a connection's other end is one of `FENCEPOST_PROXIES`."""
    try:
        here = ipaddress.ip_address((address or "").partition("%")[0])
    except ValueError:
        return False
    if isinstance(here, ipaddress.IPv6Address) and here.ipv4_mapped:
        here = here.ipv4_mapped
    return any(here in ipaddress.ip_network(network) for network in settings.proxies)


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
