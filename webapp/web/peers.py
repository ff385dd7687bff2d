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
MOST_PEERS = 10_000


class Guesses:
    """The wrong guesses of the last minute, by peer and by what was guessed at. One a process, for all its threads.

    Nobody's guesses count against another peer, so that no stranger can lock somebody out.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._guesses: dict[str, deque[tuple[float, str]]] = {}

    def charge(self, peer: str | None, at: str) -> int:
        """Seconds until `peer` may guess `at` something (an account's key, "" for tokens) again.

        Where it is 0 this is one guess more, in one step: of many at once no more than those pass. Those peers are
        forgotten first that have not guessed for longest.
        """
        with self._lock:
            now, network = time.monotonic(), _network(peer)
            guesses = self._guesses[network] = self._guesses.pop(network, deque(maxlen=WRONG_OF_PEER))
            while len(self._guesses) > MOST_PEERS:
                del self._guesses[next(iter(self._guesses))]
            for most, times in (
                (WRONG_OF_PEER, [when for when, _ in guesses]),
                (WRONG, [when for when, what in guesses if what == at]),
            ):
                if len(times) >= most and (left := times[-most] + WITHIN - now) > 0:
                    return ceil(left)
            guesses.append((now, at))
            return 0

    def refund(self, peer: str | None, at: str) -> None:
        """What was charged last was right."""
        with self._lock:
            guesses = self._guesses.get(_network(peer), deque())
            if last := next((guess for guess in reversed(guesses) if guess[1] == at), None):
                guesses.remove(last)


def _network(peer: str | None) -> str:
    """An IPv4 address, or the /64 network of an IPv6 one, of which one peer has as many addresses as it likes."""
    address = parsed(peer)
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address or peer or "")
