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


_VALUE: dict[int, Field] = {
    1: ("stringValue", _text, False),
    2: ("boolValue", bool, False),
    3: ("intValue", _signed, False),
    4: ("doubleValue", _double, False),
    7: ("bytesValue", _hex, False),
}
_PAIR: dict[int, Field] = {1: ("key", _text, False), 2: ("value", _VALUE, False)}
_VALUE[5] = ("arrayValue", {1: ("values", _VALUE, True)}, False)
_VALUE[6] = ("kvlistValue", {1: ("values", _PAIR, True)}, False)


def _attributes(first: int) -> dict[int, Field]:
    """Attributes, which are field number `first`, and how many were dropped."""
    return {first: ("attributes", _PAIR, True), first + 1: ("droppedAttributesCount", _same, False)}


_EVENT: dict[int, Field] = {1: ("timeUnixNano", str, False), 2: ("name", _text, False), **_attributes(3)}
_IDS: dict[int, Field] = {1: ("traceId", _hex, False), 2: ("spanId", _hex, False), 3: ("traceState", _text, False)}
_LINK: dict[int, Field] = {**_IDS, **_attributes(4), 6: ("flags", _same, False)}
_SPAN: dict[int, Field] = {
    **_IDS,
    4: ("parentSpanId", _hex, False),
    5: ("name", _text, False),
    6: ("kind", _same, False),
    7: ("startTimeUnixNano", str, False),
    8: ("endTimeUnixNano", str, False),
    **_attributes(9),
    11: ("events", _EVENT, True),
    12: ("droppedEventsCount", _same, False),
    13: ("links", _LINK, True),
    14: ("droppedLinksCount", _same, False),
    15: ("status", {2: ("message", _text, False), 3: ("code", _same, False)}, False),
    16: ("flags", _same, False),
}
_SCOPE: dict[int, Field] = {1: ("name", _text, False), 2: ("version", _text, False), **_attributes(3)}
_LOG: dict[int, Field] = {
    1: ("timeUnixNano", str, False),
    2: ("severityNumber", _same, False),
    3: ("severityText", _text, False),
    5: ("body", _VALUE, False),
    **_attributes(6),
    8: ("flags", _same, False),
    9: ("traceId", _hex, False),
    10: ("spanId", _hex, False),
    11: ("observedTimeUnixNano", str, False),
    12: ("eventName", _text, False),
}
_POINTS: dict[int, Field] = {1: ("dataPoints", {}, True)}
_KINDS = {5: "gauge", 7: "sum", 9: "histogram", 10: "exponentialHistogram", 11: "summary"}
_METRIC: dict[int, Field] = {number: (kind, _POINTS, False) for number, kind in _KINDS.items()}
"""metrics are counted only"""


def _of_resource(scopes: str, records: str, record: dict[int, Field]) -> dict[int, Field]:
    """A resource's `scopes`, each of which has `records`."""
    scope: dict[int, Field] = {1: ("scope", _SCOPE, False), 2: (records, record, True), 3: ("schemaUrl", _text, False)}
    return {1: ("resource", _attributes(1), False), 2: (scopes, scope, True), 3: ("schemaUrl", _text, False)}


_REQUESTS = {
    "resourceSpans": _of_resource("scopeSpans", "spans", _SPAN),
    "resourceLogs": _of_resource("scopeLogs", "logRecords", _LOG),
    "resourceMetrics": _of_resource("scopeMetrics", "metrics", _METRIC),
}
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
    kinds = [metric.get(name) for metric in metrics for name, *_ in _METRIC.values() if isinstance(metric, dict)]
    return len(_listed(kinds, "dataPoints"))


def _listed(holders: list[Any], *names: str) -> list[Any]:
    """What stands in the lists `names`, one within the other."""
    for name in names:
        lists = [holder.get(name) for holder in holders if isinstance(holder, dict)]
        holders = [item for listed in lists if isinstance(listed, list) for item in listed]
    return holders
