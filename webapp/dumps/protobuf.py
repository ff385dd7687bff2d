"""Reads protobuf's wire format: fields by number, with nothing known of their messages.

Ours and not the opentelemetry-proto package, whose protobuf runtime of several MB would be needed to read six
messages; the format is a page long (protobuf.dev, "Encoding").
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO

VARINT, I64, LEN, I32 = 0, 1, 2, 5
LOOKED_AT = 10_000
"""Fields from which a file is told: of very many, the first."""
_RESOURCE_SPANS = {1, 2, 3, 1000}


class Malformed(ValueError):
    """The bytes are no protobuf message; `at` is the byte at which they go wrong."""

    def __init__(self, at: int) -> None:
        super().__init__(f"not a protobuf message from byte {at} on")
        self.at = at


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message in order: number, and a whole number or bytes. Raises `Malformed`."""
    at = 0
    while at < len(data):
        begin = at
        tag, at = varint(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == VARINT:
            value, at = varint(data, at)
            yield number, value
            continue
        if kind == LEN:
            size, at = varint(data, at)
        elif kind in (I64, I32):
            size = 8 if kind == I64 else 4
        else:
            raise Malformed(begin)
        if number == 0 or at + size > len(data):
            raise Malformed(begin)
        content = data[at : at + size]
        at += size
        yield number, content if kind == LEN else int.from_bytes(content, "little")


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A whole number of up to ten bytes at `at`, and where it ends. Raises `Malformed`."""
    value = 0
    for index in range(10):
        if at + index >= len(data):
            break
        byte = data[at + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, at + index + 1
    raise Malformed(at)


def top(file: BinaryIO) -> Iterator[tuple[int, int]]:
    """Where the length-delimited fields of number 1 lie that a file consists of. Raises `Malformed`."""
    size, at = file.seek(0, 2), 0
    while at < size:
        file.seek(at)
        head = file.read(11)
        if head[:1] != b"\x0a":
            raise Malformed(at)
        length, offset = varint(head, 1)
        if at + offset + length > size:
            raise Malformed(at)
        yield at + offset, length
        at += offset + length


def is_otlp(file: BinaryIO) -> bool:
    """Whether a file is an ExportTraceServiceRequest: fields of number 1 all through, the first a ResourceSpans."""
    file.seek(0)
    if file.read(1) != b"\x0a":
        return False
    try:
        first, *_ = list(islice(top(file), LOOKED_AT))
        file.seek(first[0])
        read_fields = islice(fields(file.read(first[1])), LOOKED_AT)
        are_known = [number in _RESOURCE_SPANS and isinstance(value, bytes) for number, value in read_fields]
    except Malformed:
        return False
    return bool(are_known) and all(are_known)
