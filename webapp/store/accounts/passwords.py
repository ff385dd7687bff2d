"""Passwords as argon2id hashes (RFC 9106), with OWASP's parameters for a small server: 19 MiB, two passes."""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING

from webapp.exports.base import MissingLibrary
from webapp.extras import install_extra

if TYPE_CHECKING:
    from argon2 import PasswordHasher

SHORTEST, LONGEST = 12, 1000
"""characters"""
_TURN = threading.Semaphore(2)
"""hashes at once: each takes 19 MiB, and whoever may sign in may ask for many"""


class BadPassword(ValueError):
    """A password that is not taken; the message says what is."""


def hashed(password: str) -> str:
    """The hash that is stored; raises `BadPassword`, and `MissingLibrary` without argon2-cffi."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise BadPassword(f"a password has {SHORTEST} to {LONGEST:,} characters; this one has {len(password)}")
    with _TURN:
        return _hasher().hash(_bytes(password))


def is_right(password: str, stored: str | None) -> bool:
    """Whether `stored` is the hash of `password`. Without one it takes as long, so that time tells no names."""
    from argon2.exceptions import InvalidHashError, VerificationError

    with _TURN:
        try:
            return _hasher().verify(stored or _nobody(), _bytes(password[: LONGEST + 1])) and stored is not None
        except (InvalidHashError, VerificationError):
            return False


def require() -> None:
    """Raises `MissingLibrary` where no password can be checked."""
    _hasher()


@cache
def _hasher() -> PasswordHasher:
    try:
        from argon2 import PasswordHasher
    except ModuleNotFoundError:
        raise MissingLibrary(f"passwords need argon2-cffi: {install_extra('accounts')}") from None
    return PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)


@cache
def _nobody() -> str:
    return _hasher().hash(b"nobody's password")


def _bytes(password: str) -> bytes:
    return password.encode("utf-8", "surrogatepass")
