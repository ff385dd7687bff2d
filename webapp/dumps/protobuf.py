"""Reads protobuf's wire format: fields by number, with nothing known of their messages.

Ours and not the opentelemetry-proto package, whose protobuf runtime of several MB would be needed to read six
messages; the format is a page long (protobuf.dev, "Encoding").
"""

from __future__ import annotations

from collections.abc import Container, Iterator
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


def parts(
    file: BinaryIO, numbers: Container[int] = (1,), at: int = 0, end: int | None = None
) -> Iterator[tuple[int, int]]:
    """Where the length-delimited fields of these numbers lie that a file, or its bytes from `at` to `end`, consist of.

    Raises `Malformed` for any other field.
    """
    end = file.seek(0, 2) if end is None else end
    while at < end:
        file.seek(at)
        head = file.read(20)
        tag, offset = varint(head, 0)
        if tag & 7 != LEN or tag >> 3 not in numbers:
            raise Malformed(at)
        length, offset = varint(head, offset)
        if at + offset + length > end:
            raise Malformed(at)
        yield at + offset, length
        at += offset + length


def is_otlp(file: BinaryIO) -> bool:
    """Whether a file is an ExportTraceServiceRequest: fields of number 1 all through, the first a ResourceSpans."""
    file.seek(0)
    if file.read(1) != b"\x0a":
        return False
    try:
        (at, size), *_ = list(islice(parts(file), LOOKED_AT))
        return bool(list(islice(parts(file, _RESOURCE_SPANS, at, at + size), LOOKED_AT)))
    except Malformed:
        return False
