"""Limits how often a peer may give a wrong token: thousands of guesses a second become ten a minute."""

from __future__ import annotations

import ipaddress
import threading
import time
from collections import deque
from math import ceil

WRONG = 10
"""wrong tokens of one peer …"""
WRONG_OF_ALL = 300
"""… and of all together …"""
WITHIN = 60.0
"""… within so many seconds"""
MOST_PEERS = 10_000


class Guesses:
    """The wrong tokens of the last minute, by peer. One a process, for all its threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wrong: dict[str, deque[float]] = {}
        self._all: deque[float] = deque(maxlen=WRONG_OF_ALL)

    def wait(self, peer: str | None) -> int:
        """Seconds until `peer` may give a token again; 0 where it may."""
        now = time.monotonic()
        with self._lock:
            return max(_left(self._wrong.get(_network(peer)), WRONG, now), _left(self._all, WRONG_OF_ALL, now))

    def wrong(self, peer: str | None) -> None:
        """Note that `peer` gave a wrong token."""
        now, name = time.monotonic(), _network(peer)
        with self._lock:
            times = self._wrong.pop(name, None) or deque(maxlen=WRONG)
            times.append(now)
            self._all.append(now)
            self._wrong[name] = times  # at the end: the first is the one that was wrong longest ago
            if len(self._wrong) > MOST_PEERS:
                del self._wrong[next(iter(self._wrong))]


def _left(times: deque[float] | None, most: int, now: float) -> int:
    if times is None or len(times) < most:
        return 0
    return max(0, ceil(times[0] + WITHIN - now))


def _network(peer: str | None) -> str:
    """An IPv4 address, or the /64 network of an IPv6 one, of which one peer has as many addresses as it likes."""
    try:
        address = ipaddress.ip_address((peer or "").partition("%")[0])
    except ValueError:
        return peer or ""
    if address.version == 4:
        return str(address)
    return str(ipaddress.ip_network((address, 64), strict=False))
