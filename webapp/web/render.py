"""Answers a page and its htmx partial from the same templates and the same context."""

from __future__ import annotations

from typing import Any

from flask import Response, make_response, render_template, request


def wants_partial() -> bool:
    """Whether htmx asked for a part of the page. `HX-Request-Type` and not the trigger, which htmx 4 does not send."""
    return request.headers.get("HX-Request-Type") == "partial"


def page(full: str, partial: str, status: int = 200, **context: Any) -> Response:
    """Render `partial` for htmx and `full`, which includes it, for everybody else."""
    response = make_response(render_template(partial if wants_partial() else full, **context), status)
    response.headers["Vary"] = "HX-Request-Type"
    return response
