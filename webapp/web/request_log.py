"""Numbers each request, so that an answer, a log line and the proxy's log can be put together, and logs them as JSON.

`X-Request-Id` comes from the proxy where it is plain, and is made here otherwise. Addresses are logged without their
query: what people search for stays with them.
"""

from __future__ import annotations

import logging
import re
import secrets
import time

from flask import Flask, Response, current_app, g, request

HEADER = "X-Request-Id"
_PLAIN = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
_log = logging.getLogger("fencepost.requests")


def init_app(app: Flask) -> None:
    app.before_request_funcs.setdefault(None, []).insert(0, begin)
    app.after_request(end)


def begin() -> None:
    sent = request.headers.get(HEADER, "")
    g.request_id = sent if _PLAIN.fullmatch(sent) else secrets.token_hex(8)
    g.request_began = time.perf_counter()


def end(response: Response) -> Response:
    response.headers[HEADER] = g.request_id
    if current_app.config["SETTINGS"].log == "json":
        _log.info("%s %s", request.method, response.status_code, extra=_facts(response))
    return response


def _facts(response: Response) -> dict[str, object]:
    return {
        "request_id": g.request_id,
        "method": request.method,
        "path": request.path,
        "status": response.status_code,
        "milliseconds": round((time.perf_counter() - g.request_began) * 1000, 1),
        "bytes": response.content_length,
        "peer": request.remote_addr,
    }
