"""The cookies of who signed in: to the server by its token, or to an account. One name, each signed in its own way."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any

from itsdangerous import BadData, URLSafeTimedSerializer

from webapp.config import Settings

LIFE = 24 * 3600
"""seconds until a browser has to sign in again"""


def cookie_name(host: str, settings: Settings) -> str:
    """A name of this server's own: browsers send cookies to every port of a host."""
    port = re.search(r":(\d{1,5})\Z", host)
    name = f"fencepost-login-{port[1]}" if port else "fencepost-login"
    if not settings.secure:
        return name
    return f"__Secure-{name}" if settings.prefix else f"__Host-{name}"  # which browsers take for the whole host alone


@dataclass(frozen=True, slots=True)
class LoginCookie:
    """Of who gave the server's token: when that was, signed. The token itself is not in it.

    Another key or another token makes all earlier ones void.
    """

    key: bytes
    token: str

    def value(self) -> str:
        return str(self._serializer().dumps(""))

    def is_valid(self, value: str) -> bool:
        return bool(_read(self._serializer(), value) == "")

    def _serializer(self) -> URLSafeTimedSerializer:
        return _serializer(self.key, b"fencepost login\0" + self.token.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class AccountCookie:
    """Of who signed in to an account: its number and stamp, signed. Another stamp or another key ends it."""

    key: bytes

    def value(self, number: int, stamp: str) -> str:
        return str(self._serializer().dumps([number, stamp]))

    def read(self, value: str) -> tuple[int, str] | None:
        """The account's number and stamp; None where we did not sign it, or it is older than a day."""
        signed = _read(self._serializer(), value)
        return None if signed is None else (signed[0], signed[1])

    def _serializer(self) -> URLSafeTimedSerializer:
        return _serializer(self.key, b"fencepost account")


def _serializer(key: bytes, salt: bytes) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(key, salt, signer_kwargs={"digest_method": hashlib.sha256})


def _read(serializer: URLSafeTimedSerializer, value: str) -> Any:
    """What was signed within the last day; None where it was not, or not by this key."""
    try:
        return serializer.loads(value, max_age=LIFE)
    except (BadData, ValueError):
        return None
