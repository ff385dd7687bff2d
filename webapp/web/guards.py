"""What is refused: other hosts and sites, large bodies, and routes to which somebody has not the right."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from flask import Flask, Response, abort, current_app, redirect, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from webapp.config import KILOBYTE, MEGABYTE, Settings
from webapp.store.accounts.accounts import ADMIN, INGEST, LABEL, READ, RIGHTS
from webapp.web import identity, transfer
from webapp.web.identity import OWN
from webapp.web.metrics import OPEN_ENDPOINTS as HEALTH

OPEN = "open"
"""for everybody, who signed in or not"""

ROUTES = {
    OPEN: """
        static login.form login.submit login.sign_out health.alive health.ready oidc.begin oidc.finish palette.keys
    """,
    READ: """
        api_reference.description_api api_reference.show compare.compare_api compare.index compare.show
        dumps.download dumps.index dumps.show jobs.show jobs.show_api
        export_jobs.ask export_jobs.file export_jobs.file_api export_jobs.index export_jobs.list_api
        export_jobs.show export_jobs.show_api exports.index exports.labels_api exports.session_api
        failures.atom failures.index failures.old_index
        failures.show failures_api.detail_api failures_api.list_api failures_api.same_api
        growing.head guide.begin guide.end help.index help.picture help.show
        homes.ask homes.index homes.question homes.show_api
        labels.causes.index labels.index labels.lists.disagreements labels.lists.index labels.progress
        labels.name.ask labels.name.tell labels.turn.list_api labels.value
        machine_logs.index mapping_api.suggest mappings.index mappings.make metrics.show palette.found
        playground.case playground.index playground.markdown playground.raw playground.read
        profiles.index profiles.list_api profiles.responses profiles.show
        responses.index responses.list_api runs.show_api tasks.index tasks.show
        selection.ask selection.compare selection.download selection.dumps_api selection.export
        sessions.download_dump sessions.index sessions.list_api sessions.next_failure_api sessions.response
        sessions.show sessions.show_api
        turn_diff.show turns.case turns.download_decoded turns.download_raw turns.markdown turns.show turns.show_api
    """,
    LABEL: """
        export_jobs.cancel_api export_jobs.make export_jobs.make_api export_jobs.remove
        failure_actions.change labels.causes.change labels.check labels.draw
        labels.lists.settle labels.save labels.turn.put_api labels.turn.save
        labels.undo runs.cancel_api runs.make runs.make_api selection.label
        sessions.write_dump sessions.write_dump_api tasks.cancel views.remove views.save
    """,
    INGEST: """
        dumps.read_again dumps.upload dumps.upload_api guide.load_examples
        jobs.cancel jobs.cancel_api jobs.choose_key machine_logs.add mapping_api.read mappings.delete
        mappings.save playground.save
        traces.export traces.logs traces.metrics
    """,
    ADMIN: """
        homes.change homes.dismiss homes.forget homes.put_api homes.remember homes.undo
        selection.delete selection.undo
        accounts.index accounts.add accounts.change accounts.remove accounts.revoke audit.index
    """,
    OWN: """
        account.show account.set_password account.make_token account.revoke_token account.end_logins
    """,
}
WRITES_ALONE = frozenset(
    (
        *("dumps.upload_api", "export_jobs.make_api", "labels.turn.put_api", "runs.make_api"),
        *("traces.export", "traces.logs", "traces.metrics"),
    )
)
"""what answers with what was sent and no more; other routes of labels and dumps ask for the right to read too"""
RIGHT_OF = {endpoint: right for right, endpoints in ROUTES.items() for endpoint in endpoints.split()}
OF_ACCOUNTS = ("account.", "accounts.", "audit.", "oidc.")
"""what there is on servers alone that ask for accounts"""


def lacking(endpoint: str, rights: frozenset[str]) -> str | None:
    """The first right that a route asks for and that is not among these; None where they suffice."""
    right = RIGHT_OF.get(endpoint, "")
    return first_lacking(
        (right, READ) if right in (LABEL, INGEST) and endpoint not in WRITES_ALONE else (right,), rights
    )


def first_lacking(needed: Iterable[str], rights: frozenset[str]) -> str | None:
    return next((right for right in needed if right not in rights), None)


def refusal(right: str, name: str | None) -> str:
    """What to say to who has not the right that a route needs; `name` is an account's, None of a token."""
    holder = f"The account {name}" if name else "This token"
    if not right:
        return "No rule allows this address to anyone."
    if right == OWN:
        return "Sign in to an account for this; a token is not enough."
    return f"{holder} does not have the right “{right}” here: {RIGHTS[right]}."


LOGIN_LIMIT = 4 * KILOBYTE
FORM_LIMIT = 1 * MEGABYTE
TEXT_LIMIT = 5 * MEGABYTE
"""of a playground's text, or of a label through the API"""
SPANS_LIMIT = 64 * MEGABYTE


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
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


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
        is_private = is_for_programs() and not transfer.is_tagged(response)
        response.headers.setdefault("Cache-Control", "no-store" if is_private else "no-cache")
    return response
