"""Answers that can always be made, of any stored text; a page and its htmx partial; what is made while it is sent."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from typing import Any

from flask import Flask, Response, make_response, render_template, request, stream_with_context
from flask.json.provider import DefaultJSONProvider

from webapp import jsontext
from webapp.extensions import db
from webapp.visible import sign

ERRORS = "fencepost-signs"


def _signs(error: UnicodeError) -> tuple[bytes, int]:
    """A codec's error handler: each lone surrogate as it is drawn, `⟨U+D800⟩`."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(sign, error.object[error.start : error.end])).encode(), error.end


codecs.register_error(ERRORS, _signs)


class Printable(Response):
    """A response that no stored text can break."""

    def set_data(self, value: bytes | str) -> None:
        super().set_data(value.encode("utf-8", ERRORS) if isinstance(value, str) else value)

    def iter_encoded(self) -> Iterator[bytes]:
        return _encoded(self.response)  # as it is now: who packs the answer puts another iterable in its place


def _encoded(pieces: Iterable[str | bytes]) -> Iterator[bytes]:
    for piece in pieces:
        yield piece.encode("utf-8", ERRORS) if isinstance(piece, str) else piece


class LinkingApp(Flask):
    """An app whose links can be built of any stored text; one that no URL can hold leads to what is nearest."""

    def url_for(self, endpoint: str, **values: Any) -> str:
        try:
            return super().url_for(endpoint, **values)
        except UnicodeEncodeError:
            return super().url_for(endpoint, **{name: _encodable(value) for name, value in values.items()})


def _encodable(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_encodable(item) for item in value]
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else value


class PortableJson(DefaultJSONProvider):
    """JSON whose numbers every reader takes: see `jsontext.marked`."""

    def dumps(self, obj: Any, **kwargs: Any) -> str:
        try:
            text = super().dumps(obj, allow_nan=False, **kwargs)
        except ValueError:
            return super().dumps(jsontext.marked(obj), **kwargs)
        return super().dumps(jsontext.marked(obj), **kwargs) if jsontext.MARK in text else text


def wants_partial() -> bool:
    """Whether htmx asked for a part of the page. `HX-Request-Type` and not the trigger, which htmx 4 does not send."""
    return request.headers.get("HX-Request-Type") == "partial"


def page(full: str, partial: str, status: int = 200, **context: Any) -> Response:
    """Render `partial` for htmx and `full`, which includes it, for everybody else."""
    response = make_response(render_template(partial if wants_partial() else full, **context), status)
    response.headers["Vary"] = "HX-Request-Type"
    return response


def text_answer(text: str) -> Response:
    """Plain text; a lone surrogate, which no encoding holds, as its escape."""
    return Response(text.encode("utf-8", "backslashreplace"), mimetype="text/plain")


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
