"""Addresses with a slash too many: `/help/` leads to `/help`."""

from __future__ import annotations

from urllib.parse import quote

from flask import current_app, redirect, request
from werkzeug.wrappers import Response


def redirection() -> Response | None:
    """To the page of this address without the slash at its end; None if no page has that address either."""
    path = "/" + request.path.strip("/")
    if path == request.path or request.method not in ("GET", "HEAD") or path.startswith(("/api/", "/v1/")):
        return None
    routes = current_app.create_url_adapter(request)
    if path == "/" or routes is None or not routes.test(path, "GET"):
        return None
    query = request.query_string.decode("latin-1")
    return redirect(f"{request.script_root}{quote(path)}{'?' if query else ''}{query}", 308)
