"""Answers that are made while they are sent."""

from __future__ import annotations

from collections.abc import Iterator

from flask import Response, stream_with_context

from webapp.extensions import db


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
