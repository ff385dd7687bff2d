"""Peers: which address asks, behind trusted proxies too, and how often it may guess wrong."""

from __future__ import annotations

import ipaddress
import threading
import time
from collections import deque
from math import ceil

from webapp.config import Settings


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
            return max(map(_left, self._of(peer, at)))

    def charge(self, peer: str | None, at: str) -> int:
        """As `wait`, and where it is 0 this is one guess more, in one step: of many at once no more than those pass."""
        with self._lock:
            kept = self._of(peer, at)
            if (wait := max(map(_left, kept))) == 0:
                for times in kept:
                    times.append(time.monotonic())
            return wait

    def refund(self, peer: str | None, at: str) -> None:
        """What was charged last was right."""
        with self._lock:
            for times in filter(None, self._of(peer, at)):
                times.pop()

    def _of(self, peer: str | None, at: str) -> list[deque[float]]:
        """The last guesses of a peer at everything, and at this, as many as it has; those are forgotten first that
        were not asked after for longest."""
        network = _network(peer)
        for key, most in (((network,), WRONG_OF_PEER), ((network, at), WRONG)):
            times = self._times.pop(key, None)
            self._times[key] = deque(maxlen=most) if times is None else times
        while len(self._times) > MOST_KEYS:
            del self._times[next(iter(self._times))]
        return [self._times[(network,)], self._times[(network, at)]]


def _left(times: deque[float]) -> int:
    """Seconds until one guess more is free: 0 where not all are used."""
    return max(0, ceil(times[0] + WITHIN - time.monotonic())) if len(times) == times.maxlen else 0


def _network(peer: str | None) -> str:
    """An IPv4 address, or the /64 network of an IPv6 one, of which one peer has as many addresses as it likes."""
    address = parsed(peer)
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address or peer or "")
