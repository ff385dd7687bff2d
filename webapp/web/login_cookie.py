"""The cookie of who signed in: when that was, and a signature over it. The token itself is not in it."""

from __future__ import annotations

import hmac
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie

LIFE = 24 * 3600
"""seconds until a browser has to give the token again"""
_AHEAD = 60
"""seconds that the clock may have been set back since"""
_VALUE = re.compile(r"([0-9]{1,12})\.([0-9a-f]{64})")


def cookie_name(host: str, *, secure: bool, path: str) -> str:
    """A name of this server's own: browsers send cookies to every port of a host."""
    port = re.search(r":(\d{1,5})\Z", host)
    name = f"fencepost-login-{port[1]}" if port else "fencepost-login"
    whole_host = path == "/"  # what browsers ask of a cookie called __Host-
    return f"{'__Host-' if whole_host else '__Secure-'}{name}" if secure else name


@dataclass(frozen=True, slots=True)
class LoginCookie:
    """Makes and reads the cookie of one server. Another key or another token makes all earlier ones void."""

    key: bytes
    token: str
    secure: bool
    path: str = "/"
    """of this server's pages: where the cookie is sent to"""

    def name(self, host: str) -> str:
        return cookie_name(host, secure=self.secure, path=self.path)

    def value(self, now: float | None = None) -> str:
        issued = str(int(time.time() if now is None else now))
        return f"{issued}.{self._signature(issued)}"

    def is_valid(self, value: str, now: float | None = None) -> bool:
        match = _VALUE.fullmatch(value)
        if match is None or not hmac.compare_digest(match[2], self._signature(match[1])):
            return False
        age = (time.time() if now is None else now) - int(match[1])
        return -_AHEAD <= age < LIFE

    def is_in(self, cookies: Mapping[str, str], host: str) -> bool:
        return self.is_valid(cookies.get(self.name(host), ""))

    def is_in_header(self, header: str, host: str) -> bool:
        """The same for a `Cookie` header that nobody read yet."""
        try:
            cookies = SimpleCookie(header)
        except CookieError:
            return False
        return self.is_in({name: morsel.value for name, morsel in cookies.items()}, host)

    def _signature(self, issued: str) -> str:
        token = self.token.encode("utf-8", "surrogatepass")
        return hmac.digest(self.key, b"login\0" + issued.encode() + b"\0" + token, "sha256").hex()
