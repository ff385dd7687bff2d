"""Answers: a page and its htmx partial from the same templates and context, and what is made while it is sent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flask import Response, make_response, render_template, request, stream_with_context

from webapp.extensions import db


def wants_partial() -> bool:
    """Whether htmx asked for a part of the page. `HX-Request-Type` and not the trigger, which htmx 4 does not send."""
    return request.headers.get("HX-Request-Type") == "partial"


def page(full: str, partial: str, status: int = 200, **context: Any) -> Response:
    """Render `partial` for htmx and `full`, which includes it, for everybody else."""
    response = make_response(render_template(partial if wants_partial() else full, **context), status)
    response.headers["Vary"] = "HX-Request-Type"
    return response


def streamed(pieces: Iterator[bytes], media_type: str) -> Response:
    """`pieces`, which read from `db.session` while they are sent, as an answer.

    The session that the request began with is closed when the view returns; reading on opens it again, and nobody else
    would give its connection back at the end.
    """
    session = db.session

    def to_the_end() -> Iterator[bytes]:
        try:
            yield from pieces
        finally:
            session.close()

    return Response(stream_with_context(to_the_end()), mimetype=media_type)
