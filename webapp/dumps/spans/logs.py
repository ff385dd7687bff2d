"""Which session and span OTLP data are of, log records of models, and attributes as plain values, also as lists."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from webapp import jsontext
from webapp.dumps.records import Entry, Problem
from webapp.dumps.values import as_list, as_object, id_text, moment

NO_TIME = -(2**62)
"""Where a span stands that does not say when it started: before all others."""
_MESSAGES = ("gen_ai.input", "gen_ai.output", "gen_ai.prompt", "gen_ai.completion", "gen_ai.system_instructions")


def logs_of(at: str, group: dict[str, Any]) -> Iterator[Entry | Problem]:
    """Each record of a ResourceLogs as `{"resource", "log"}`, with its place."""
    for number, scope in enumerate(as_list(group.get("scopeLogs", group.get("scope_logs")))):
        records = as_object(scope).get("logRecords", as_object(scope).get("log_records"))
        for index, record in enumerate(as_list(records)):
            place = f"{at}.scopeLogs[{number}].logRecords[{index}]"
            if isinstance(record, dict):
                yield place, {"resource": group.get("resource"), "log": record}
            else:
                yield Problem(place, "expected an object; skipped")


def event_name(record: dict[str, Any]) -> str:
    """What the record calls what happened; "" where it does not say."""
    name = record.get("eventName") or record.get("event_name")
    if isinstance(name, str):
        return name
    for pair in as_list(record.get("attributes")):
        if isinstance(pair, dict) and pair.get("key") == "event.name":
            return str(plain(pair.get("value")) or "")
    return ""


def is_of_a_model(record: dict[str, Any]) -> bool:
    """Whether the record may hold messages; a program's other logs do not."""
    if event_name(record).startswith("gen_ai."):
        return True
    keys = (pair.get("key") for pair in as_list(record.get("attributes")) if isinstance(pair, dict))
    return any(isinstance(key, str) and key.startswith(_MESSAGES) for key in keys)


def trace_of(record: dict[str, Any]) -> str | None:
    return id_hex(record.get("traceId", record.get("trace_id")), 16)


def span_of(record: dict[str, Any]) -> str | None:
    return id_hex(record.get("spanId", record.get("span_id")), 8)


def logged_at(record: dict[str, Any]) -> int:
    """Nanoseconds since 1970; `NO_TIME` where the record does not say."""
    keys = ("timeUnixNano", "time_unix_nano", "observedTimeUnixNano", "observed_time_unix_nano")
    return next((when for key in keys if (when := nanoseconds(record.get(key)))), NO_TIME)


def nanoseconds(value: Any) -> int | None:
    """Nanoseconds since 1970, exactly, of what OTLP writes as a number or as digits; else of any time."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 20:
        return int(value)
    when = moment(value)
    return None if when is None else int(when.timestamp() * 1e9)


def _order(record: dict[str, Any]) -> tuple[int, int]:
    """Records of one moment are in the order in which they were observed."""
    keys = ("observedTimeUnixNano", "observed_time_unix_nano")
    return logged_at(record), next((when for key in keys if (when := nanoseconds(record.get(key)))), 0)


def digest(record: dict[str, Any]) -> bytes:
    """The SHA-256 of a record, by which one that comes again is known."""
    return hashlib.sha256(jsontext.dumps(record).encode("ascii")).digest()


def with_logs(entry: dict[str, Any], records: list[dict[str, Any]]) -> dict[str, Any]:
    """The entry of a span with what was logged of it, in the order of time."""
    return {**entry, "logs": sorted(records, key=_order)}


def entry_of_logs(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Records without their span as an entry, whose span says no more than its ids, a time and a name."""
    records = sorted((entry["log"] for entry in entries), key=_order)
    first, when = records[0], logged_at(records[0])
    span = {"traceId": trace_of(first) or "", "spanId": span_of(first) or "", "name": event_name(first)}
    started = {} if when == NO_TIME else {"startTimeUnixNano": str(when)}
    return {"resource": entries[0].get("resource"), "scope": None, "span": {**span, **started}, "logs": records}


def has_no_span(entry: dict[str, Any]) -> bool:
    """Whether an entry is what `entry_of_logs` made."""
    span = as_object(entry.get("span"))
    return bool(entry.get("logs")) and not ({"attributes", "endTimeUnixNano", "end_time_unix_nano"} & set(span))


_SESSIONS = ("gen_ai.conversation.id", "session.id", "langfuse.session.id", "ai.telemetry.metadata.sessionId")


@dataclass(frozen=True, slots=True)
class Identity:
    """What a span is called: ids as hex where they are sound, else as they came; `started` in nanoseconds.

    `session` is the session that the span or its resource names.
    """

    trace: str | None
    span: str | None
    session: str | None
    started: int | None


def identity(entry: dict[str, Any]) -> Identity:
    """Who the span of an entry `{"resource", "scope", "span"}` is."""
    span = entry["span"]
    started = nanoseconds(span.get("startTimeUnixNano", span.get("start_time_unix_nano")))
    return Identity(trace_of(span), span_of(span), _session(span, entry.get("resource")), started)


def session_of_log(entry: dict[str, Any]) -> str | None:
    """The session that a log record of an entry `{"resource", "log"}`, or its resource, names."""
    return _session(entry["log"], entry.get("resource"))


def _session(*holders: Any) -> str | None:
    """The first session that the attributes of one of `holders` name; most name none, and need not be opened."""
    for holder in holders:
        listed = holder.get("attributes") if isinstance(holder, dict) else None
        if isinstance(listed, list):
            listed = [pair for pair in listed if isinstance(pair, dict) and pair.get("key") in _SESSIONS]
        if listed and (name := id_text(Attributes(listed).first(*_SESSIONS))):
            return name
    return None


SCALARS = ("stringValue", "intValue", "doubleValue", "boolValue", "bytesValue")
_TYPES = frozenset((*SCALARS, "arrayValue", "kvlistValue"))
SNAKE = {name.replace("Value", "_value"): name for name in _TYPES}
"""Protobuf's JSON may spell a field as its definition does, and readers accept both."""
KNOWN = _TYPES | SNAKE.keys()
_HEX = re.compile(r"[0-9a-fA-F]+")
MOST_INDEX = 10_000


class Attributes:
    """A list of `{key, value}` as OTLP writes it, its `values` by key."""

    def __init__(self, listed: Any) -> None:
        self.values: dict[str, Any] = {}
        if isinstance(listed, dict):  # some exporters write a plain object
            self.values = {str(key): plain(value) if typed(value) else value for key, value in listed.items()}
        for pair in as_list(listed):
            if isinstance(pair, dict) and isinstance(pair.get("key"), str):
                self.values[pair["key"]] = plain(pair.get("value"))

    def first(self, *keys: str) -> Any:
        """The value of the first of `keys` that there is and that is neither None nor empty."""
        for key in keys if self.values else ():
            if (value := self.values.get(key)) is not None and value != "":
                return value
        return None

    def text(self, *keys: str) -> str | None:
        """The first of `keys` that is a text."""
        for key in keys if self.values else ():
            if isinstance(value := self.values.get(key), str) and value:
                return value
        return None

    def indexed(self, prefix: str) -> list[dict[str, Any]]:
        """`prefix.N.rest` by N: for each N its `rest`s with their values."""
        by_number: dict[int, dict[str, Any]] = {}
        for key, value in self.values.items():
            if not key.startswith(prefix + "."):
                continue
            number, _, rest = key[len(prefix) + 1 :].partition(".")
            if number.isdigit() and len(number) < 6 and int(number) < MOST_INDEX:
                by_number.setdefault(int(number), {})[rest] = value
        return [by_number[number] for number in sorted(by_number)]


def typed(value: Any) -> str | None:
    """The type that a value of OTLP names; None where it is none."""
    return next((key for key in value if key in KNOWN), None) if isinstance(value, dict) and len(value) == 1 else None


def plain(value: Any) -> Any:
    """What a typed value says; `intValue` may be a text."""
    if not isinstance(value, dict):
        return value
    if "intValue" in value:
        try:
            return int(value["intValue"])
        except (TypeError, ValueError, OverflowError):
            return None
    for key in SCALARS:
        if key in value:
            return value[key]
    array, pairs = value.get("arrayValue"), value.get("kvlistValue")
    if isinstance(array, dict):
        return [plain(inner) for inner in as_list(array.get("values"))]
    if isinstance(pairs, dict):
        listed = [pair for pair in as_list(pairs.get("values")) if isinstance(pair, dict)]
        return {str(pair.get("key")): plain(pair.get("value")) for pair in listed}
    camel = {SNAKE[key]: inner for key, inner in value.items() if key in SNAKE}
    return plain(camel) if camel else None


def id_hex(value: Any, size: int) -> str | None:
    """A trace's (16 bytes) or span's (8) id as lower-case hex, which JSON may write as hex or base64."""
    if not isinstance(value, str) or not value:
        return None
    if len(value) == 2 * size and _HEX.fullmatch(value):
        return value.lower()
    try:
        data = base64.b64decode(value, validate=True)
    except ValueError:
        return value
    return data.hex() if len(data) == size else value


_IDS = ("spanId", "span_id")
_TIMES = ("startTimeUnixNano", "start_time_unix_nano")


def is_bare(span: dict[str, Any]) -> bool:
    """Whether a span has neither id and time, by which others know it, nor a value, an event or a status of its own."""
    if any(span.get(key) for key in _IDS) and any(span.get(key) for key in _TIMES):
        return False
    events = (event for event in as_list(span.get("events")) if isinstance(event, dict))
    has_events = any(event.get("name") or _has_values(event.get("attributes")) for event in events)
    return not (has_events or _has_values(span.get("attributes")) or as_object(span.get("status")))


def _has_values(attributes: Any) -> bool:
    if isinstance(attributes, dict):
        return bool(attributes)
    pairs = (pair for pair in as_list(attributes) if isinstance(pair, dict))
    return any(pair.get("key") and plain(pair.get("value")) is not None for pair in pairs)
