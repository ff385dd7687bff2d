"""What is refused: other hosts and sites, large bodies, and routes to which somebody has not the right."""

from __future__ import annotations

import re
from dataclasses import replace

from flask import Flask, Response, abort, current_app, redirect, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from webapp.config import KILOBYTE, MEGABYTE, Settings
from webapp.web import answers, identity
from webapp.web.metrics import OPEN_ENDPOINTS as HEALTH
from webapp.web.rights import OF_ACCOUNTS, OPEN, RIGHT_OF, SAFE_METHODS, lacking, refusal

LOGIN_LIMIT = 4 * KILOBYTE
FORM_LIMIT = 1 * MEGABYTE
SPANS_LIMIT = 64 * MEGABYTE
"""of one request of an exporter"""
TEXT_LIMIT = 5 * MEGABYTE
"""of a playground's text, or of a label through the API"""


def most_bytes(path: str, settings: Settings) -> int:
    """The largest body for `path`; forms are small, and only uploads may have what the settings say."""
    path = path.rstrip("/")
    if path == "/login":
        return LOGIN_LIMIT
    if path in ("/dumps", "/api/dumps"):
        return settings.max_upload
    if path.startswith("/v1/"):
        return min(SPANS_LIMIT, settings.max_upload)
    if path.startswith(("/playground", "/api/")):
        return TEXT_LIMIT
    return FORM_LIMIT


def limit_words(path: str, settings: Settings) -> str:
    """What to say to who sends more."""
    most = most_bytes(path, settings)
    if path.rstrip("/") in ("/dumps", "/api/dumps"):
        return (
            f"An upload may have {most // MEGABYTE:,} MB as it is sent (FENCEPOST_MAX_UPLOAD). Send it compressed, or"
            " read the file where the server runs: fencepost ingest FILE."
        )
    size = f"{most // MEGABYTE:,} MB" if most >= MEGABYTE else f"{most // KILOBYTE:,} KB"
    return f"The body of a request to this address may have {size}, no more."


_OF_OURS = ("script-src", "style-src", "img-src", "connect-src", "form-action")
CSP = "; ".join(
    ["default-src 'none'", *(f"{use} 'self'" for use in _OF_OURS), "base-uri 'none'", "frame-ancestors 'none'"]
)
HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def init_app(app: Flask) -> None:
    for check in (refuse_other_hosts, refuse_other_sites, require_right, limit_body, refuse_packed_body):
        app.before_request(check)
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
        allowed = origin is None or origin in (f"http://{request.host}", f"https://{request.host}")
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
    return request.path.startswith(("/api/", "/v1/")) or request.path.rstrip("/") == "/metrics"


def limit_body() -> None:
    """Have what reads the body stop at what its route may have."""
    settings = current_app.config["SETTINGS"]
    request.max_content_length = most_bytes(request.path, settings)
    request.max_form_memory_size = most_bytes(request.path, replace(settings, max_upload=FORM_LIMIT))
    if request.content_length is not None and request.content_length > request.max_content_length:
        abort(413, limit_words(request.path, settings))


def refuse_packed_body() -> None:
    """Refuse a compressed body where nothing unpacks it: it would be read as what it is not."""
    packing = (request.content_encoding or "identity").strip().lower()
    is_dump = request.path.rstrip("/") == "/api/dumps"
    is_taken = packing == "identity" or (is_dump and packing in ("gzip", "zstd"))
    if not is_taken and not request.path.startswith("/v1/"):  # which answers for itself
        packings = "gzip or zstd" if is_dump else "no compression"
        abort(415, f"A body sent to this address may have {packings}, not the Content-Encoding {packing[:100]!r}.")


def require_right() -> AnyResponse | None:
    """Where a login is asked for, ask each route's right of who asks; a route without one is for nobody."""
    settings = current_app.config["SETTINGS"]
    endpoint = request.endpoint or ""
    if endpoint.startswith(OF_ACCOUNTS) and not settings.accounts:
        abort(404, "This server has no accounts. Set FENCEPOST_ACCOUNTS=1 to use them.")
    right = RIGHT_OF.get(endpoint)
    if not settings.asks_login or right == OPEN:
        return None
    who = identity.current()
    if who is None:
        return ask_to_sign_in()
    if endpoint and (lacks := lacking(endpoint, who.rights)) is not None:
        abort(403, refusal(lacks, None if who.is_program else who.name))
    return None


def ask_to_sign_in() -> AnyResponse:
    if is_for_programs():
        unknown = "The token is wrong or was revoked. " if "Authorization" in request.headers else ""
        abort(401, f"{unknown}Send the token as `Authorization: Bearer …`.")
    return redirect(url_for("login.form", next=request.full_path.removesuffix("?")))


def add_headers(response: Response) -> Response:
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    if request.endpoint != "static":
        if current_app.config["SETTINGS"].asks_login:
            response.headers["Cache-Control"] = "no-store"
        # no cache may keep what programs get, though nobody signs in, but for what can be revalidated
        is_private = is_for_programs() and not answers.is_tagged(response)
        response.headers.setdefault("Cache-Control", "no-store" if is_private else "no-cache")
    return response
