"""How answers travel: with an ETag where they can be asked for again, and packed where the client takes that."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Protocol

from flask import Flask, Response, request
from werkzeug.wsgi import ClosingIterator

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LEAST = 1024
"""bytes from which packing is worth its while"""
_TEXTS = ("application/json", "application/jsonl", "application/atom+xml", "image/svg+xml")
_GZIP_LEVEL = 5


class Packer(Protocol):
    """A stream's compressor."""

    def compress(self, data: bytes, /) -> bytes: ...
    def flush(self) -> bytes: ...


PACKERS: dict[str, Callable[[], Packer]] = {
    "zstd": zstd.ZstdCompressor,
    "gzip": partial(zlib.compressobj, _GZIP_LEVEL, zlib.DEFLATED, 16 + zlib.MAX_WBITS),
}
"""what is taken first stands first"""


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
    """Compress text for clients that say that they take it (RFC 9110, 12.5.3)."""
    if not _is_text(response) or response.status_code != 200 or "Content-Encoding" in response.headers:
        return response
    response.vary.add("Accept-Encoding")
    name = request.accept_encodings.best_match(list(PACKERS))
    if name is None or request.method == "HEAD" or _is_short(response):
        return response
    etag, _ = response.get_etag()
    if etag is not None:
        response.set_etag(etag, weak=True)
    if response.is_streamed or response.direct_passthrough:
        close = getattr(response.response, "close", None)
        response.response = ClosingIterator(_packed(response.iter_encoded(), PACKERS[name]()), close)
        response.direct_passthrough = False
        response.headers.pop("Content-Length", None)
    else:
        response.set_data(b"".join(_packed([response.get_data()], PACKERS[name]())))
    response.headers["Content-Encoding"] = name
    response.headers.pop("Accept-Ranges", None)
    return response


def _is_text(response: Response) -> bool:
    kind = response.mimetype or ""
    return kind in _TEXTS or kind.startswith("text/")


def _is_short(response: Response) -> bool:
    length = response.calculate_content_length() if not response.is_streamed else response.content_length
    return length is not None and length < LEAST


def _packed(pieces: Iterable[bytes], packer: Packer) -> Iterator[bytes]:
    for piece in pieces:
        if out := packer.compress(piece):
            yield out
    yield packer.flush()
