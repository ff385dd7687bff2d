"""Who may send what, decided once a request's headers are there: before its body is spooled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from webapp.config import Settings
from webapp.web import body_limits, proxies, tokens
from webapp.web.guessing import Guesses
from webapp.web.login_cookie import AccountCookie, LoginCookie, cookie_name, in_header
from webapp.web.prefix import without


@dataclass(frozen=True, slots=True)
class Admission:
    """`cookie` is None where no token is asked for, `account_cookie` where no account is.

    `is_api_token` and `lacks_right` look into the database, so they are asked of large bodies alone, and never for a
    peer that guesses.
    """

    settings: Settings
    cookie: LoginCookie | None
    account_cookie: AccountCookie | None = None
    is_api_token: Callable[[bytes], bool] = lambda sent: False
    guesses: Guesses | None = None
    lacks_right: Callable[[str, str, Mapping[str, str], str], bool] = lambda *_: False

    def is_stranger(self, path: str, headers: Mapping[str, str], peer: str) -> bool:
        """Whether the app will refuse this request for its login; `headers` are named as in CGI, without HTTP_."""
        if not self.settings.asks_login or self.own_path(path) == "/login":
            return False
        sent = tokens.bearer(headers.get("AUTHORIZATION", ""))
        if sent is not None:
            return not self._is_token(sent, headers, peer)
        header = (self.settings.proxy_header or "").upper().replace("-", "_")
        if proxies.account_name(self.settings, peer, headers.get(header, "")) is not None:
            return False
        value = in_header(headers.get("COOKIE", ""), cookie_name(headers.get("HOST", ""), self.settings))
        return not any(kind.is_valid(value) for kind in (self.cookie, self.account_cookie) if kind)

    def is_refused(self, method: str, address: str, path: str, headers: Mapping[str, str], peer: str) -> bool:
        """Whether the app will refuse it for its login or for want of a right; `address` is as it was sent."""
        if self.is_stranger(path, headers, peer):
            return True
        asks = self.settings.asks_login and _is_large(headers)
        return asks and self.lacks_right(method, address, headers, peer)

    def _is_token(self, sent: bytes, headers: Mapping[str, str], peer: str) -> bool:
        if self.cookie is not None and tokens.same(sent, self.cookie.token):
            return True
        address = proxies.client_address(self.settings, peer, headers.get("X_FORWARDED_FOR", ""))
        if self.guesses is None or self.guesses.wait(address):
            return False
        return self.settings.accounts and _is_large(headers) and self.is_api_token(sent)

    def most_bytes(self, path: str) -> int:
        return body_limits.most_bytes(self.own_path(path), self.settings)

    def words(self, path: str) -> str:
        return body_limits.words(self.own_path(path), self.settings)

    def own_path(self, path: str) -> str:
        """The path as the app's routes have it: without the prefix."""
        return without(path, self.settings.prefix)


def _is_large(headers: Mapping[str, str]) -> bool:
    """Whether the body may be more than one who is refused may send: it says so, or does not say how long it is."""
    length = headers.get("CONTENT_LENGTH", "")
    return "TRANSFER_ENCODING" in headers or (length.isdecimal() and int(length[:20]) > body_limits.REFUSED)
