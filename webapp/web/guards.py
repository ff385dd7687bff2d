"""Guards: who may ask, from where, and what the browser may do with an answer."""

from __future__ import annotations

import hmac
import re
from urllib.parse import urlsplit

from flask import Flask, Response, abort, current_app, redirect, request, session, url_for
from werkzeug.wrappers import Response as AnyResponse

CSP = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
OPEN_ENDPOINTS = frozenset({"static", "login.form", "login.submit"})


def init_app(app: Flask) -> None:
    app.before_request(refuse_other_hosts)
    app.before_request(refuse_other_origins)
    app.before_request(require_token)
    app.after_request(add_headers)


def refuse_other_hosts() -> None:
    """Refuse a `Host` that is not on the list: a name that someone pointed at this machine (DNS rebinding).

    Not Flask's `TRUSTED_HOSTS`, which cannot hold an IPv6 address and answers without a page.
    """
    name = re.sub(r":\d+\Z", "", request.headers.get("Host", "")).lower()
    if name not in current_app.config["SETTINGS"].trusted_hosts:
        abort(400, f"This server does not answer to the name {name!r}. FENCEPOST_TRUSTED_HOSTS adds names.")


def refuse_other_origins() -> None:
    """Refuse an unsafe method that another site sent: by `Sec-Fetch-Site`, and where it is missing by `Origin`.

    Neither header comes from `curl` or a script, which no browser tricked into asking.
    """
    if request.method in SAFE_METHODS:
        return
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        allowed = site in ("same-origin", "none")
    else:
        origin = request.headers.get("Origin")
        allowed = origin is None or urlsplit(origin).netloc == request.host
    if not allowed:
        abort(403, "This request came from another site. Send it from Fencepost's own pages or from a script.")


def require_token() -> AnyResponse | None:
    """With `FENCEPOST_TOKEN` set, ask every request for it: as a bearer token, or once in a form."""
    token = current_app.config["SETTINGS"].token
    if token is None or request.endpoint in OPEN_ENDPOINTS or may_enter(token):
        return None
    if request.path.startswith(("/api/", "/v1/")):
        abort(401, "Send the token as `Authorization: Bearer …`.")
    return redirect(url_for("login.form", next=request.full_path.removesuffix("?")))


def may_enter(token: str) -> bool:
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return same(given.strip(), token)
    return same(str(session.get("token", "")), token)


def same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), token.encode("utf-8", "surrogatepass"))


def add_headers(response: Response) -> Response:
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    if request.endpoint != "static":
        response.headers.setdefault("Cache-Control", "no-store" if request.path.startswith("/api/") else "no-cache")
    return response
