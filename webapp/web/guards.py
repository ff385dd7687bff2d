"""Guards: who may ask, from where, and what the browser may do with an answer."""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import urlsplit

from flask import Flask, Response, abort, current_app, redirect, request, url_for
from werkzeug.exceptions import TooManyRequests
from werkzeug.wrappers import Response as AnyResponse

from webapp.web import body_limits, tokens, transfer
from webapp.web.guessing import Guesses
from webapp.web.health import OPEN_ENDPOINTS as HEALTH
from webapp.web.login_cookie import LoginCookie

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
OPEN_ENDPOINTS = frozenset({"static", "login.form", "login.submit"}) | HEALTH


def init_app(app: Flask) -> None:
    app.before_request(refuse_other_hosts)
    app.before_request(refuse_other_sites)
    app.before_request(require_token)
    app.before_request(limit_body)
    app.before_request(refuse_packed_body)
    app.after_request(add_headers)


def refuse_other_hosts() -> None:
    """Refuse a `Host` that is not on the list: a name that someone pointed at this machine (DNS rebinding).

    Not Flask's `TRUSTED_HOSTS`, which cannot hold an IPv6 address and answers without a page. A load balancer asks
    after health by any name.
    """
    if request.endpoint in HEALTH:
        return
    name = re.sub(r":\d+\Z", "", request.headers.get("Host", "")).lower()
    if name not in current_app.config["SETTINGS"].trusted_hosts:
        abort(400, f"This server does not answer to the name {name!r}. FENCEPOST_TRUSTED_HOSTS adds names.")


def refuse_other_sites() -> None:
    """Refuse what another site's page asked for, but for a link to one of our pages that somebody followed.

    By `Sec-Fetch-Site`, and where it is missing by `Origin`. Neither header comes from `curl` or a script, which no
    browser tricked into asking. Reading is refused too: an `<img>` of any page could have us work for minutes.
    """
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        allowed = site in ("same-origin", "none") or is_followed_link()
    else:
        origin = request.headers.get("Origin")
        allowed = origin is None or urlsplit(origin).netloc == request.host
    if not allowed:
        abort(403, "This request came from another site. Send it from Fencepost's own pages or from a script.")


def is_followed_link() -> bool:
    """Whether a browser shows the answer as a page of its own: no image, script, frame or `fetch` of another page."""
    return (
        request.method in SAFE_METHODS
        and request.headers.get("Sec-Fetch-Mode") == "navigate"
        and request.headers.get("Sec-Fetch-Dest") == "document"
        and not is_for_programs()
    )


def is_for_programs() -> bool:
    """Whether the path is of the API, of OpenTelemetry's exporters or of Prometheus, and no page."""
    return request.path.startswith(("/api/", "/v1/")) or request.path == "/metrics"


def limit_body() -> None:
    """Have what reads the body stop at what its route may have."""
    settings = current_app.config["SETTINGS"]
    request.max_content_length = body_limits.most_bytes(request.path, settings)
    request.max_form_memory_size = body_limits.most_bytes(request.path, replace(settings, max_upload=body_limits.FORM))
    if request.content_length is not None and request.content_length > request.max_content_length:
        abort(413, body_limits.words(request.path, settings))


def refuse_packed_body() -> None:
    """Refuse a compressed body where nothing unpacks it: it would be read as what it is not."""
    packing = (request.content_encoding or "identity").strip().lower()
    if not body_limits.may_be_packed(request.path, packing):
        taken = "gzip or zstd" if request.path == "/api/dumps" else "no compression"
        abort(415, f"A body sent to this address may have {taken}, not the Content-Encoding {packing[:100]!r}.")


def require_token() -> AnyResponse | None:
    """With `FENCEPOST_TOKEN` set, ask every request for it: as a bearer token, or once in a form."""
    login = login_cookie()
    if login is None or request.endpoint in OPEN_ENDPOINTS or may_enter(login):
        return None
    if is_for_programs():
        abort(401, "Send the token as `Authorization: Bearer …`.")
    return redirect(url_for("login.form", next=request.full_path.removesuffix("?")))


def login_cookie() -> LoginCookie | None:
    """What reads this server's login cookies; None where no token is asked for."""
    settings = current_app.config["SETTINGS"]
    key, path = current_app.config["SECRET_KEY"], settings.prefix or "/"
    return settings.token and LoginCookie(key, settings.token, settings.secure, path)


def may_enter(login: LoginCookie) -> bool:
    sent = tokens.bearer(request.headers.get("Authorization", ""))
    if sent is None:
        return login.is_in(request.cookies, request.host)
    return is_token(sent, login.token)


def is_token(sent: bytes, token: str) -> bool:
    """Whether `sent` is the token; answers 429 to a peer that was wrong too often."""
    guesses: Guesses = current_app.extensions.setdefault("fencepost_guesses", Guesses())
    if wait := guesses.wait(request.remote_addr):
        raise TooManyRequests("Too many wrong tokens came from here. Try again in a minute.", retry_after=wait)
    if tokens.same(sent, token):
        return True
    guesses.wrong(request.remote_addr)
    return False


def add_headers(response: Response) -> Response:
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    if request.endpoint != "static":
        response.headers.setdefault("Cache-Control", "no-store" if is_private(response) else "no-cache")
    return response


def is_private(response: Response) -> bool:
    """Whether no cache may keep an answer: all where a token is set; else programs' but for what can be revalidated."""
    if current_app.config["SETTINGS"].token is not None:
        return True
    return is_for_programs() and not transfer.is_tagged(response)
