"""The cookie of who signed in to an account: its number and stamp, signed. Another stamp or another key ends it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie

from itsdangerous import BadData, URLSafeTimedSerializer

from webapp.web.login_cookie import LIFE, cookie_name


@dataclass(frozen=True, slots=True)
class AccountCookie:
    """Makes and reads the cookies of one server."""

    key: bytes
    secure: bool
    path: str = "/"
    """of this server's pages: where the cookie is sent to"""

    def name(self, host: str) -> str:
        return cookie_name(host, secure=self.secure, path=self.path)

    def value(self, number: int, stamp: str) -> str:
        return str(self._serializer().dumps([number, stamp]))

    def read(self, value: str) -> tuple[int, str] | None:
        """The account's number and stamp; None where we did not sign it, or it is older than a day."""
        try:
            number, stamp = self._serializer().loads(value, max_age=LIFE)
        except (BadData, ValueError, TypeError):
            return None
        return number, stamp

    def of(self, cookies: Mapping[str, str], host: str) -> tuple[int, str] | None:
        return self.read(cookies.get(self.name(host), ""))

    def is_in_header(self, header: str, host: str) -> bool:
        """Whether a `Cookie` header that nobody read yet has one of ours."""
        try:
            morsel = SimpleCookie(header).get(self.name(host))
        except CookieError:
            return False
        return morsel is not None and self.read(morsel.value) is not None

    def _serializer(self) -> URLSafeTimedSerializer:
        return URLSafeTimedSerializer(self.key, "fencepost account", signer_kwargs={"digest_method": hashlib.sha256})
