"""The cookies of who signed in: to the server by its token, or to an account. One name, each signed in its own way."""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from dataclasses import dataclass

from itsdangerous import BadData, URLSafeTimedSerializer

from webapp.config import Settings

LIFE = 24 * 3600
"""seconds until a browser has to sign in again"""
_AHEAD = 60
"""seconds that the clock may have been set back since"""
_VALUE = re.compile(r"([0-9]{1,12})\.([0-9a-f]{64})")


def cookie_name(host: str, settings: Settings) -> str:
    """A name of this server's own: browsers send cookies to every port of a host."""
    port = re.search(r":(\d{1,5})\Z", host)
    name = f"fencepost-login-{port[1]}" if port else "fencepost-login"
    if not settings.secure:
        return name
    return f"__Secure-{name}" if settings.prefix else f"__Host-{name}"  # which browsers take for the whole host alone


@dataclass(frozen=True, slots=True)
class LoginCookie:
    """Of who gave the server's token: when that was, and a signature over it. The token itself is not in it.

    Another key or another token makes all earlier ones void.
    """

    key: bytes
    token: str

    def value(self, now: float | None = None) -> str:
        issued = str(int(time.time() if now is None else now))
        return f"{issued}.{self._signature(issued)}"

    def is_valid(self, value: str, now: float | None = None) -> bool:
        match = _VALUE.fullmatch(value)
        if match is None or not hmac.compare_digest(match[2], self._signature(match[1])):
            return False
        age = (time.time() if now is None else now) - int(match[1])
        return -_AHEAD <= age < LIFE

    def _signature(self, issued: str) -> str:
        token = self.token.encode("utf-8", "surrogatepass")
        return hmac.digest(self.key, b"login\0" + issued.encode() + b"\0" + token, "sha256").hex()


@dataclass(frozen=True, slots=True)
class AccountCookie:
    """Of who signed in to an account: its number and stamp, signed. Another stamp or another key ends it."""

    key: bytes

    def value(self, number: int, stamp: str) -> str:
        return str(self._serializer().dumps([number, stamp]))

    def read(self, value: str) -> tuple[int, str] | None:
        """The account's number and stamp; None where we did not sign it, or it is older than a day."""
        try:
            number, stamp = self._serializer().loads(value, max_age=LIFE)
        except (BadData, ValueError, TypeError):
            return None
        return number, stamp

    def _serializer(self) -> URLSafeTimedSerializer:
        return URLSafeTimedSerializer(self.key, "fencepost account", signer_kwargs={"digest_method": hashlib.sha256})
