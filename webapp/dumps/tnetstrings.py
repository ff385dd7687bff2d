"""mitmproxy's flows, which are tnetstrings (`5:hello,`), as exchanges of HTTP."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from webapp.dumps.budget import current
from webapp.dumps.spool import packed_text
from webapp.dumps.values import as_object

FLOWS = re.compile(r"\d{1,9}:\d{1,6}:[a-z_]{1,30};")
_DEEPEST = 20
_MOST_DIGITS = 12


class Torn(ValueError):
    """What is no tnetstring, or ends before its length."""


def flows(file: BinaryIO, start: int) -> Iterator[dict[str, Any] | str]:
    """The exchanges in a file of flows; what is wrong with the rest as a text."""
    file.seek(start)
    count = 0
    while size := _size(file):
        current().check_records(count, f"flow {count:,}")
        count += 1
        if current().too_long(size) or len(data := file.read(size + 1)) <= size:
            yield f"flow {count:,} is cut, or too long"
            return
        try:
            flow, _ = _value(str(size).encode() + b":" + data, 0, 0)
        except (Torn, ValueError, TypeError, RecursionError):
            yield f"flow {count:,} is damaged"
            return
        if isinstance(flow, dict) and isinstance(flow.get("request"), dict):
            yield _exchange(flow)


def _size(file: BinaryIO) -> int:
    """The length that stands before the next value; 0 where there is none."""
    digits = b""
    while (byte := file.read(1)).isdigit() and len(digits) < _MOST_DIGITS:
        digits += byte
    return int(digits) if digits and byte == b":" else 0


def _value(data: bytes, at: int, depth: int) -> tuple[Any, int]:
    """The value that begins at `at`, and where it ends."""
    colon = data.find(b":", at, at + _MOST_DIGITS + 1)
    if colon < 0 or depth > _DEEPEST:
        raise Torn
    begin, end = colon + 1, colon + 1 + int(data[at:colon])
    if end >= len(data):
        raise Torn
    kind, inner = data[end : end + 1], data[begin:end]
    if kind in b"}]":
        return _many(data, begin, end, depth, is_dict=kind == b"}"), end + 1
    plain = {b",": lambda: inner, b";": lambda: inner.decode("utf-8", "surrogateescape"), b"#": lambda: int(inner)}
    scalars = {b"^": lambda: float(inner), b"!": lambda: inner == b"true", b"~": lambda: None}
    if kind not in plain | scalars:
        raise Torn
    return (plain | scalars)[kind](), end + 1


def _many(data: bytes, at: int, end: int, depth: int, is_dict: bool) -> dict[str, Any] | list[Any]:
    values = list[Any]()
    while at < end:
        value, at = _value(data, at, depth + 1)
        values.append(value)
    return dict(zip(values[::2], values[1::2], strict=False)) if is_dict else values


def _exchange(flow: dict[str, Any]) -> dict[str, Any]:
    """A flow as recorders write an exchange."""
    request, response = flow["request"], as_object(flow.get("response"))
    host, path = _plain(request.get("host")), _plain(request.get("path"))
    url = f"{_plain(request.get('scheme'))}://{host}{path}"
    request_fields = {"method": _plain(request.get("method")), "url": url, "body": _body(request)}
    return {"request": request_fields, "response": {"status": response.get("status_code"), "body": _body(response)}}


def _plain(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")


def _body(message: dict[str, Any]) -> str:
    """The body of a message as text, unpacked where it is packed."""
    content = message.get("content") or b""
    return packed_text(content) if isinstance(content, bytes) else str(content)
