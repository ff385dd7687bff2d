"""What is refused, and in which words: hosts, sites, bodies, routes without the right, and whatever an error says."""

from __future__ import annotations

import errno
import re
import sqlite3
from collections.abc import Callable
from dataclasses import replace

from flask import Flask, Response, abort, current_app, g, make_response, redirect, render_template, request, url_for
from sqlalchemy.exc import DataError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from werkzeug.exceptions import ClientDisconnected, HTTPException, MethodNotAllowed, TooManyRequests
from werkzeug.wrappers import Response as AnyResponse

from webapp.config import KILOBYTE, MEGABYTE, Settings
from webapp.dumps.budget import BadDump
from webapp.refusals import Refusal
from webapp.store import files
from webapp.store.files import StoreUnreachable
from webapp.web import answers, identity
from webapp.web.answers import otlp_refusal, wants_partial
from webapp.web.api.operation import refused as json_refusal
from webapp.web.metrics import OPEN_ENDPOINTS as HEALTH
from webapp.web.rights import OF_ACCOUNTS, OPEN, RIGHT_OF, SAFE_METHODS, needed

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
    """What to say to who sends more, but to uploads, whose pages have words of their own."""
    most = most_bytes(path, settings)
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
    handlers: dict[type[Exception], Callable[..., Answer | AnyResponse]] = {
        Refusal: in_its_words,
        HTTPException: on_http,
        OperationalError: on_busy,
        PoolTimeout: on_no_connection,
        BadDump: on_damaged,
        StoreUnreachable: on_store_away,
        OSError: on_no_write,
        OverflowError: on_too_large,
        DataError: on_too_large,
        Exception: on_bug,
    }
    for kind, handler in handlers.items():
        app.register_error_handler(kind, handler)


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
    if endpoint:
        identity.demand(who, needed(endpoint))
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


Answer = tuple[str | Response, int]
CUT = "The connection ended before the whole request was received; nothing was stored. Send it again."
_READ_ONLY = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_READONLY_DIRECTORY, sqlite3.SQLITE_CANTOPEN)


def answer(status: int, code: str, message: str) -> Answer:
    """The JSON error under `/api/`, the error page elsewhere."""
    if request.path.startswith("/api/"):
        return json_refusal(code, message, status=status)
    if request.path.startswith("/v1/"):
        return otlp_refusal(status, message), status
    if wants_partial():
        return refused(status, message)
    return render_template("error.html", status=status, message=message), status


def refused(status: int, message: str) -> Answer:
    """For htmx: a line where messages stand, whatever part of the page was asked for; the address stays."""
    response = make_response(render_template("_partials/refused.html", message=message), status)
    response.headers.update({"HX-Retarget": "#messages", "HX-Reswap": "innerHTML", "HX-Push-Url": "false"})
    return response, status


def on_http(error: HTTPException) -> Answer | AnyResponse:
    status = error.code or 500
    if error.response is not None or status < 400:
        return error.get_response()
    name = error.name.lower().replace(" ", "_")
    words = CUT if isinstance(error, ClientDisconnected) else error.description or error.name
    body, status = answer(status, name, words)
    response = make_response(body, status)
    if isinstance(error, MethodNotAllowed) and error.valid_methods:
        response.headers["Allow"] = ", ".join(sorted(error.valid_methods))
    if isinstance(error, TooManyRequests):
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def in_its_words(error: Refusal) -> Answer:
    return answer(error.status, error.code, str(error))


def on_busy(error: OperationalError) -> Answer:
    """The database did not answer in time: SQLite has one writer at a time, and a large dump takes long."""
    if files.is_full(error):
        return answer(507, files.DISK_FULL, files.WORDS_WHEN_FULL)
    current_app.logger.warning("database: %s", error.orig)
    if getattr(error.orig, "sqlite_errorcode", None) in _READ_ONLY:
        return answer(507, "read_only", "The database cannot be written: see its permissions. Nothing was changed.")
    if not isinstance(error.orig, sqlite3.Error):
        return answer(503, "busy", "The database does not answer; the server's log says why. Nothing was changed.")
    return answer(503, "busy", "The database is busy, perhaps with a large log. Nothing was changed; try again soon.")


def on_no_connection(error: PoolTimeout) -> Answer:
    """All connections that this process may open are in use, for as long as a request waits for one."""
    current_app.logger.warning("all connections to the database are in use: see FENCEPOST_POOL")
    return answer(503, "busy", "All connections to the database are in use. Nothing was changed; try again soon.")


def on_no_write(error: OSError) -> Answer:
    """A file of ours cannot be written or read: a full disk, or a folder that is not ours to write in."""
    if files.is_full(error):
        return answer(507, files.DISK_FULL, files.WORDS_WHEN_FULL)
    current_app.logger.error("%s %s: %s", request.method, request.path, error)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return answer(507, "read_only", "The data folder cannot be written: see its permissions. Nothing was stored.")
    return answer(503, "no_file", f"A file of the data folder cannot be used: {error.strerror or error}.")


def on_store_away(error: StoreUnreachable) -> Answer:
    """What the store answered may name its address and its keys."""
    current_app.logger.error("%s", error)
    return answer(503, "store_unreachable", "The file store cannot be reached; the server's log says why.")


def on_damaged(error: BadDump) -> Answer:
    """A kept file does not hold any more what was put into it."""
    return answer(422, "damaged", f"The stored file is damaged: {error.reason} ({error.at}).")


def on_too_large(error: Exception) -> Answer:
    """A number that no column holds, or a text that the database does not take."""
    return answer(400, "bad_request", "A number in the request is too large or not a number.")


def on_bug(error: Exception) -> Answer:
    """A bug of ours: the log gets the traceback, the reader gets words."""
    about = (request.method, request.path, g.request_id)
    current_app.logger.exception("unhandled: %s %s, request %s", *about, exc_info=error)
    return answer(500, "internal_error", f"Something broke on our side. The server's log says what, at {g.request_id}.")
