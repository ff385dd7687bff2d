"""OTLP traces in protobuf, as the JSON that OTLP would write for them (opentelemetry-proto 1.x, trace.proto).

The wire format is read here (protobuf.dev, "Encoding"): the opentelemetry-proto package would need a runtime of several
MB to read six messages.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Container, Iterator
from itertools import islice
from typing import Any, BinaryIO

from webapp.dumps.budget import DEEPEST, MOST_WHOLE, Allowance, TooLarge, current
from webapp.dumps.records import Problem

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


Field = tuple[str, Any, bool]
"""name in JSON, how it is read (a message's fields, or a function: 64 bits are a text), whether it repeats"""


def _text(value: Any) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def _hex(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else ""


def _signed(value: Any) -> str:
    return str(value - 2**64 if isinstance(value, int) and value >= 2**63 else value)


def _double(value: Any) -> float | None:
    if not isinstance(value, int) or not 0 <= value < 2**64:
        return None
    return float(struct.unpack("<d", value.to_bytes(8, "little"))[0])


def _same(value: Any) -> int | None:
    return value if isinstance(value, int) else None


_READ_BY: dict[str, Any] = {how.__name__.lstrip("_"): how for how in (_text, _hex, bool, str, _signed, _double, _same)}
_OF_RESOURCE = "1 resource Resource, 3 schemaUrl text, 2"
_OF_SCOPE = "1 scope Scope, 3 schemaUrl text, 2"
_MESSAGES = {
    "Value": "1 stringValue text, 2 boolValue bool, 3 intValue signed, 4 doubleValue double, 5 arrayValue Values"
    ", 6 kvlistValue Pairs, 7 bytesValue hex",
    "Values": "1 values Value*",
    "Pairs": "1 values Pair*",
    "Pair": "1 key text, 2 value Value",
    "Event": "1 timeUnixNano str, 2 name text, 3 attributes Pair*, 4 droppedAttributesCount same",
    "Link": "1 traceId hex, 2 spanId hex, 3 traceState text, 4 attributes Pair*, 5 droppedAttributesCount same"
    ", 6 flags same",
    "Status": "2 message text, 3 code same",
    "Span": "1 traceId hex, 2 spanId hex, 3 traceState text, 4 parentSpanId hex, 5 name text, 6 kind same"
    ", 7 startTimeUnixNano str, 8 endTimeUnixNano str, 9 attributes Pair*, 10 droppedAttributesCount same"
    ", 11 events Event*, 12 droppedEventsCount same, 13 links Link*, 14 droppedLinksCount same, 15 status Status"
    ", 16 flags same",
    "Scope": "1 name text, 2 version text, 3 attributes Pair*, 4 droppedAttributesCount same",
    "Log": "1 timeUnixNano str, 2 severityNumber same, 3 severityText text, 5 body Value, 6 attributes Pair*"
    ", 7 droppedAttributesCount same, 8 flags same, 9 traceId hex, 10 spanId hex, 11 observedTimeUnixNano str"
    ", 12 eventName text",
    "Point": "",
    "Points": "1 dataPoints Point*",
    "Metric": "5 gauge Points, 7 sum Points, 9 histogram Points, 10 exponentialHistogram Points, 11 summary Points",
    "Resource": "1 attributes Pair*, 2 droppedAttributesCount same",
    "ScopeSpans": f"{_OF_SCOPE} spans Span*",
    "ScopeLogs": f"{_OF_SCOPE} logRecords Log*",
    "ScopeMetrics": f"{_OF_SCOPE} metrics Metric*",
    "resourceSpans": f"{_OF_RESOURCE} scopeSpans ScopeSpans*",
    "resourceLogs": f"{_OF_RESOURCE} scopeLogs ScopeLogs*",
    "resourceMetrics": f"{_OF_RESOURCE} scopeMetrics ScopeMetrics*",
}
"""the messages by their fields: number, name in JSON, and how it is read, or of which message, with `*` where it
repeats; metrics are counted only"""


def _fields_of_messages() -> dict[str, dict[int, Field]]:
    messages: dict[str, dict[int, Field]] = {name: {} for name in _MESSAGES}
    for name, written in _MESSAGES.items():
        for field in filter(None, written.split(", ")):
            number, called, kind = field.split(" ")
            how = _READ_BY[kind] if kind in _READ_BY else messages[kind.rstrip("*")]
            messages[name][int(number)] = (called, how, kind.endswith("*"))
    return messages


_REQUESTS = _fields_of_messages()
_SIZES = {VARINT: 0, I64: 8, I32: 4}


def groups(file: BinaryIO) -> Iterator[tuple[str, dict[str, Any] | Problem]]:
    """Each ResourceSpans of an ExportTraceServiceRequest with its place, one in memory at a time."""
    try:
        for index, (at, size) in enumerate(parts(file)):
            place = f"resourceSpans[{index}]"
            yield place, _group(file, at, size, place)
    except Malformed as bad:
        yield f"byte {bad.at}", Problem(f"byte {bad.at}", f"{bad}; what came before was read")


def request_of(data: bytes, allowance: Allowance, name: str = "resourceSpans") -> Iterator[tuple[str, dict[str, Any]]]:
    """Each ResourceSpans, ResourceLogs or ResourceMetrics of a whole Export…ServiceRequest with its place.

    Raises `Malformed` and `TooLarge`.
    """
    for index, (at, size) in enumerate(parts(io.BytesIO(data))):
        place = f"{name}[{index}]"
        allowance.take(1, place)
        yield place, _message(data, at, at + size, _REQUESTS[name], 0, allowance)


def _group(file: BinaryIO, at: int, size: int, place: str) -> dict[str, Any] | Problem:
    if reason := current().too_long(size, MOST_WHOLE):
        return Problem(place, f"{reason}; skipped")
    file.seek(at)
    try:
        return _message(file.read(size), 0, size, _REQUESTS["resourceSpans"], 0, Allowance())
    except (Malformed, TooLarge) as bad:
        return Problem(place, f"{bad}; skipped")


def _message(
    data: bytes, at: int, end: int, fields: dict[int, Field], level: int, allowance: Allowance
) -> dict[str, Any]:
    """The message in `data[at:end]` as JSON names its `fields`; others are left out.

    One loop without calls for the usual short tags and lengths: spans have many. Raises `Malformed` and `TooLarge`.
    """
    if level > DEEPEST:
        raise Malformed(at)
    allowance.left -= 1
    if allowance.left < 0:
        allowance.take(0, f"byte {at}")
    values: dict[str, Any] = {}
    while at < end:
        begin, tag, at = at, data[at], at + 1
        if tag > 127:
            tag, at = varint(data, begin)
        kind = tag & 7
        if kind == LEN:
            size = data[at] if at < end else 128
            at += 1
            if size > 127:
                size, at = varint(data, at - 1)
        else:
            size = _SIZES.get(kind, -1)
        field = fields.get(tag >> 3)
        value: Any = None
        if kind == VARINT:
            value, at = varint(data, at)
            stop = at
        else:
            stop = at + size
        if size < 0 or stop > end or tag < 8:
            raise Malformed(begin)
        if field is not None:
            name, how, repeats = field
            if isinstance(how, dict):
                if kind != LEN:
                    raise Malformed(begin)
                value = _message(data, at, stop, how, level + 1, allowance)
            elif kind == LEN:
                value = how(data[at:stop])
            else:
                value = how(value if kind == VARINT else int.from_bytes(data[at:stop], "little"))
            if repeats:
                values.setdefault(name, []).append(value)
            else:
                values[name] = value
        at = stop
    return values


def answer(number: int, words: str) -> bytes:
    """A whole number and a text, as both messages hold them that OTLP answers; what is no UTF-8 becomes a `?`."""
    return b"\x08" + _varint(number) + part(2, words.encode("utf-8", "replace"))


def part(number: int, data: bytes) -> bytes:
    """A field of bytes as protobuf writes it."""
    return _varint(number << 3 | LEN) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    return bytes((value,)) if value < 128 else bytes((value & 127 | 128,)) + _varint(value >> 7)


def data_points(group: dict[str, Any] | Problem) -> int:
    """Data points of a ResourceMetrics; what has another shape counts as nothing."""
    metrics = _listed([group], "scopeMetrics", "metrics")
    kinds = [
        metric.get(name) for metric in metrics for name, *_ in _REQUESTS["Metric"].values() if isinstance(metric, dict)
    ]
    return len(_listed(kinds, "dataPoints"))


def _listed(holders: list[Any], *names: str) -> list[Any]:
    """What stands in the lists `names`, one within the other."""
    for name in names:
        lists = [holder.get(name) for holder in holders if isinstance(holder, dict)]
        holders = [item for listed in lists if isinstance(listed, list) for item in listed]
    return holders
