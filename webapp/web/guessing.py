"""Limits how often a peer may give a wrong token or password: thousands of guesses a second become ten a minute."""

from __future__ import annotations

import ipaddress
import threading
import time
from collections import deque
from math import ceil

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
            return self._wait(_keys(peer, at))

    def charge(self, peer: str | None, at: str) -> int:
        """As `wait`, and where it is 0 this is one guess more, in one step: of many at once no more than those pass."""
        keys = _keys(peer, at)
        with self._lock:
            if wait := self._wait(keys):
                return wait
            for key in keys:
                times = self._times.pop(key, None) or deque(maxlen=WRONG_OF_PEER)
                times.append(time.monotonic())
                self._times[key] = times  # at the end: the first is the one that was wrong longest ago
                if len(self._times) > MOST_KEYS:
                    del self._times[next(iter(self._times))]
            return 0

    def refund(self, peer: str | None, at: str) -> None:
        """What was charged last was right."""
        with self._lock:
            for key in _keys(peer, at):
                if times := self._times.get(key):
                    times.pop()

    def _wait(self, keys: tuple[tuple[str, ...], ...]) -> int:
        now, most = time.monotonic(), (WRONG_OF_PEER, WRONG)
        return max(_left(self._times.get(key), limit, now) for key, limit in zip(keys, most, strict=True))


def _keys(peer: str | None, at: str) -> tuple[tuple[str, ...], ...]:
    network = _network(peer)
    return (network,), (network, at)


def _left(times: deque[float] | None, most: int, now: float) -> int:
    if times is None or len(times) < most:
        return 0
    return max(0, ceil(times[-most] + WITHIN - now))


def _network(peer: str | None) -> str:
    """An IPv4 address, or the /64 network of an IPv6 one, of which one peer has as many addresses as it likes."""
    try:
        address = ipaddress.ip_address((peer or "").partition("%")[0])
    except ValueError:
        return peer or ""
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is None:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(getattr(address, "ipv4_mapped", address))
