"""OTLP traces: every place of a response's text, sessions, ids, times, tools, errors, JSON and protobuf."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path

import pytest

from tests.parsing import _cases
from webapp.dumps.formats import otlp
from webapp.dumps.spans.requests import opened_span

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "00f067aa0ba902b7"


def typed(value: object) -> dict:
    kinds = {str: "stringValue", bool: "boolValue", int: "intValue", float: "doubleValue"}
    if isinstance(value, list):
        return {"arrayValue": {"values": [typed(inner) for inner in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": listed(value)}}
    return {kinds[type(value)]: str(value) if type(value) is int else value}


def listed(values: dict[str, object]) -> list[dict]:
    return [{"key": key, "value": typed(value)} for key, value in values.items()]


def span(attributes: dict[str, object] | None = None, events: dict[str, dict] | None = None, **more: object) -> dict:
    own = {"traceId": TRACE, "spanId": SPAN, "name": "chat", "startTimeUnixNano": "1750000000500000000", **more}
    found = [{"name": name, "attributes": listed(values)} for name, values in (events or {}).items()]
    return {**own, "attributes": listed(attributes or {}), "events": found}


def trace(*spans: dict, resource: dict[str, object] | None = None) -> str:
    scope = {"scope": {"name": "s"}, "spans": list(spans)}
    return json.dumps({"resourceSpans": [{"resource": {"attributes": listed(resource or {})}, "scopeSpans": [scope]}]})


def varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def part(number: int, value: int | float | str | bytes, fixed: bool = False) -> bytes:
    if isinstance(value, float) or fixed:
        return varint(number << 3 | 1) + (
            struct.pack("<d", value) if isinstance(value, float) else struct.pack("<Q", value)
        )
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def pair(key: str, value: bytes) -> bytes:
    return part(1, key) + part(2, value)


def protobuf() -> bytes:
    attributes = [
        pair("gen_ai.completion.0.content", part(1, "A")),
        pair("gen_ai.usage.input_tokens", part(3, 3)),
        pair("gen_ai.usage.cost", part(4, 0.5)),
        pair("flags", part(5, part(1, part(2, 1)) + part(1, part(3, 2**64 - 1)))),
    ]
    ids = part(1, bytes.fromhex(TRACE)) + part(2, bytes.fromhex(SPAN))
    times = part(7, 1750000000500000000, fixed=True)
    own = ids + part(5, "chat") + times + b"".join(part(9, one) for one in attributes) + part(999, "unknown")
    return part(
        1, part(1, part(1, pair("session.id", part(1, "s1")))) + part(2, part(1, part(1, "scope")) + part(2, own))
    )


def test_protobuf_says_what_json_says(got):
    known = {
        "gen_ai.completion.0.content": "A",
        "gen_ai.usage.input_tokens": 3,
        "gen_ai.usage.cost": 0.5,
        "flags": [True, -1],
    }
    value = json.loads(trace({**span(known), "events": []}, resource={"session.id": "s1"}))
    value["resourceSpans"][0]["scopeSpans"][0]["scope"]["name"] = "scope"
    del value["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["events"]
    packed, plain = got(protobuf(), "traces.bin"), got(json.dumps(value))
    assert packed.ids == plain.ids == ["s1"]
    assert packed.entries() == plain.entries()
    assert packed.only == plain.only


def test_protobuf_that_is_damaged(got):
    whole = protobuf()
    for end in range(1, len(whole)):
        with pytest.raises(ValueError):
            got(whole[:end], "traces.bin")
    inner = bytearray(whole * 2)
    inner[len(whole) + 6] = 0xFF
    found = got(bytes(inner), "traces.bin")
    assert found.ids == ["s1"]


@pytest.mark.parametrize(
    ("outer", "scopes", "inner"),
    [("resourceSpans", "scopeSpans", "spans"), ("resourceLogs", "scopeLogs", "logRecords")],
)
def test_empty_spans_and_records_are_one_problem_however_many(got, outer, scopes, inner):
    """A kilobyte, packed, may hold a million of them: none becomes a turn, which would take time and room."""
    value = json.loads(trace(span({"gen_ai.completion": "A"})))
    value.setdefault(outer, []).append({scopes: [{inner: [{}] * 20_000 + [{"name": ""}]}]})
    dump = got(json.dumps(value))
    assert [turn.raw for turn in dump.only] == ["A"]
    (problem,) = dump.problems
    assert problem.at.endswith(f"{inner}[0]") and problem.reason.startswith("20,001 spans or log records have only")


@pytest.mark.parametrize(
    "bare",
    [
        {"name": "a"},
        {"traceId": "1"},
        {"spanId": "1"},
        {"startTimeUnixNano": "1"},
        {"attributes": [{"key": "a"}]},
        {"attributes": [{"key": "a", "value": {}}]},
        {"attributes": [{"value": {"intValue": 1}}]},
        {"events": [{}, {"timeUnixNano": "1"}]},
        {"status": {}, "kind": 1},
    ],
)
def test_spans_that_say_nothing_are_not_worked_on(got, monkeypatch, bare):
    """A megabyte of the shortest is 70,000 spans, each of which would take as long as one that says something."""
    worked = []
    monkeypatch.setattr(otlp, "opened_span", lambda entry: worked.append(entry) or opened_span(entry))
    value = json.loads(trace(span({"gen_ai.completion": "A"})))
    value["resourceSpans"].append({"scopeSpans": [{"spans": [bare] * 1000}]})
    dump = got(json.dumps(value))
    assert [turn.raw for turn in dump.only] == ["A"] and len(worked) == 1
    (problem,) = dump.problems
    assert problem.at.endswith("spans[0]") and problem.reason.startswith("1,000 spans")


def snake(value: object) -> object:
    """The same dump with protobuf's own spelling of every field; what a program named itself is left."""
    if isinstance(value, list):
        return [snake(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    return {re.sub("[A-Z]", lambda upper: "_" + upper[0].lower(), name): snake(inner) for name, inner in value.items()}


ODD = ('"line ', 'Value\\"')
CASES = [
    case
    for case in _cases.read(Path(__file__).parent / "cases" / "otlp.md")
    if '"resourceSpans"' in case.raw and not any(words in json.dumps(case.values) for words in ODD)
]
"""but those with a damaged line, or in which an odd value itself, with its field's name, is the text"""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_both_spellings_of_fields_say_the_same(got, case):
    lines = [case.raw] if case.raw.count('"resourceSpans"') == 1 else case.raw.splitlines()
    first, second = got(case.raw), got("\n".join(json.dumps(snake(json.loads(line))) for line in lines))
    told = [
        [[(turn.kind, turn.raw, turn.sent_at, turn.model) for turn in turns] for turns in found.turns]
        for found in (first, second)
    ]
    assert told[0] == told[1] and first.ids == second.ids and len(second.problems) == len(first.problems)
