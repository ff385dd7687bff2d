"""Who may send what, decided once a request's headers are there: before its body is spooled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from webapp.config import Settings
from webapp.web import body_limits, tokens
from webapp.web.login_cookie import LoginCookie
from webapp.web.prefix import without


@dataclass(frozen=True, slots=True)
class Admission:
    """`cookie` is None where no token is asked for."""

    settings: Settings
    cookie: LoginCookie | None

    def is_stranger(self, path: str, headers: Mapping[str, str]) -> bool:
        """Whether the app will refuse this request for its token; `headers` are named as in CGI, without HTTP_."""
        if self.cookie is None or self.own_path(path) == "/login":
            return False
        sent = tokens.bearer(headers.get("AUTHORIZATION", ""))
        if sent is not None:
            return not tokens.same(sent, self.cookie.token)
        return not self.cookie.is_in_header(headers.get("COOKIE", ""), headers.get("HOST", ""))

    def most_bytes(self, path: str) -> int:
        return body_limits.most_bytes(self.own_path(path), self.settings)

    def words(self, path: str) -> str:
        return body_limits.words(self.own_path(path), self.settings)

    def own_path(self, path: str) -> str:
        """The path as the app's routes have it: without the prefix."""
        return without(path, self.settings.prefix)
