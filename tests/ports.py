"""Ports for servers that must know theirs before they start, or start again on it."""

from __future__ import annotations

import random
import socket
from pathlib import Path

RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
LEAST, GIVEN_OUT = 20_000, 32_768
"""from here on ports are tried, and from there on Linux gives them to whoever asks for any, unless it says otherwise"""
_chance = random.SystemRandom()


def free_port() -> int:
    """A port of 127.0.0.1 that nobody has, nor gets who asks for any: the next connection anywhere might."""
    end = int(RANGE.read_text().split()[0]) if RANGE.exists() else GIVEN_OUT
    while True:
        port = _chance.randrange(LEAST, end) if end > LEAST + 1_000 else 0
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
