"""Answers that can always be made, of any stored text: page or partial, streamed, packed, with an ETag."""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from flask import Flask, Response, make_response, redirect, render_template, request, stream_with_context
from flask.json.provider import DefaultJSONProvider
from werkzeug.wrappers import Response as AnyResponse
from werkzeug.wsgi import ClosingIterator

from webapp import jsontext
from webapp.dumps import otlp_protobuf
from webapp.extensions import db
from webapp.visible import sign

ERRORS = "fencepost-signs"
PROTOBUF, JSON = "application/x-protobuf", "application/json"
RETRY_AFTER = 5
"""seconds"""
_CODES = {400: 3, 401: 16, 403: 7, 404: 5, 405: 12, 413: 8, 415: 3, 503: 14}
"""HTTP status to google.rpc.Code."""


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
        pieces = self.response  # as it is now: who packs the answer puts another iterable in its place
        return (piece.encode("utf-8", ERRORS) if isinstance(piece, str) else piece for piece in pieces)


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


def part_or_way(partial: str, address: str, **context: Any) -> str | AnyResponse:
    """What came of a form: `partial` for htmx; everybody else goes on to `address`."""
    return render_template(partial, **context) if wants_partial() else redirect(address, 303)


def text_answer(text: str) -> Response:
    """Plain text; a lone surrogate, which no encoding holds, as its escape."""
    return Response(text.encode("utf-8", "backslashreplace"), mimetype="text/plain")


def streamed(pieces: Iterator[bytes], media_type: str, name: str, how: str = "attachment") -> Response:
    """`pieces`, which read from `db.session` while they are sent, as a file called `name`.

    The session that the request began with is closed when the view returns; reading on opens it again, and nobody else
    would give its connection back at the end.
    """
    session = db.session

    def to_the_end() -> Iterator[bytes]:
        try:
            yield from pieces
        finally:
            session.close()

    response = Response(stream_with_context(to_the_end()), mimetype=media_type)
    response.headers.set("Content-Disposition", how, filename=name)
    return response


LEAST = 1024
"""bytes from which packing is worth its while"""
_TEXTS = ("text/", "application/json", "application/jsonl", "application/atom+xml", "image/svg+xml")
_GZIP_LEVEL = 5


def init_app(app: Flask) -> None:
    """Before other parts: what is done last to an answer is registered first."""
    app.after_request(pack)
    app.after_request(tag)


def tag(response: Response) -> Response:
    """Give a whole answer of the API that was read its ETag; 304 where the client has the same already.

    The tag is weak, since the same content may come packed in another way.
    """
    if is_tagged(response):
        response.add_etag(weak=True)
        if request.if_none_match:
            response.make_conditional(request)
    return response


def is_tagged(response: Response) -> bool:
    is_read = request.method in ("GET", "HEAD") and request.path.startswith("/api/")
    return is_read and response.status_code == 200 and not response.is_streamed


def pack(response: Response) -> Response:
    """Compress text, while it is sent, for clients that say that they take gzip (RFC 9110, 12.5.3)."""
    if not (response.mimetype or "").startswith(_TEXTS) or response.status_code != 200:
        return response
    response.vary.add("Accept-Encoding")
    length = response.content_length if response.is_streamed else response.calculate_content_length()
    is_short = length is not None and length < LEAST
    if is_short or request.method == "HEAD" or not request.accept_encodings.quality("gzip"):
        return response
    etag, _ = response.get_etag()
    if etag is not None:
        response.set_etag(etag, weak=True)
    close = getattr(response.response, "close", None)
    response.response = ClosingIterator(_packed(response.iter_encoded()), close)
    response.direct_passthrough = False
    response.headers["Content-Encoding"] = "gzip"
    for name in ("Content-Length", "Accept-Ranges"):
        response.headers.pop(name, None)
    return response


def _packed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    yield from filter(None, map(packer.compress, pieces))
    yield packer.flush()


def download(pieces: Iterator[bytes], format_: Any, name: str) -> Response:
    """The pieces as a file; the first is made at once, so that what stops an export is answered with its status."""
    first = next(pieces, b"")
    how = "inline" if request.args.get("show") == "1" and format_.suffix != ".html" else "attachment"
    return streamed(chain((first,), pieces), format_.media_type, f"{name}{format_.suffix}", how)


def otlp_refusal(status: int, message: str) -> Response:
    """A `Status` in the request's encoding; with `Retry-After` where the same may be taken later."""
    code = _CODES.get(status, 2)
    response = otlp_answer(status, {"code": code, "message": message}, otlp_protobuf.answer(code, message))
    if status in (429, 503):
        response.headers["Retry-After"] = str(RETRY_AFTER)
    return response


def otlp_answer(status: int, value: dict[str, Any], packed: bytes) -> Response:
    """An answer to an exporter in the encoding of its request: as JSON, or `packed`."""
    if request.mimetype == PROTOBUF:
        return Response(packed, status, mimetype=PROTOBUF)
    return Response(jsontext.portable(value), status, mimetype=JSON)
