"""mitmproxy's flows: exchanges of HTTP as tnetstrings, whole, cut and damaged."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

ASKED = {"model": "m", "messages": [{"role": "user", "content": "berth?"}]}
ANSWERED = {"choices": [{"message": {"role": "assistant", "content": '{"berth": 7,}'}, "finish_reason": "stop"}]}


def tnetstring(value: Any) -> bytes:
    kind, inner = b"~", b""
    if isinstance(value, dict):
        kind, inner = b"}", b"".join(tnetstring(part) for pair in value.items() for part in pair)
    elif isinstance(value, bytes | str):
        kind, inner = (b",", value) if isinstance(value, bytes) else (b";", value.encode())
    elif value is not None:
        kind, inner = b"#", str(value).encode()
    return str(len(inner)).encode() + b":" + inner + kind


def flow(body: bytes) -> bytes:
    request = {"method": b"POST", "scheme": b"https", "host": "api.openai.com", "path": b"/v1/chat/completions"}
    asked = {**request, "content": json.dumps(ASKED).encode()}
    return tnetstring({"websocket": None, "request": asked, "response": {"status_code": 200, "content": body}})


def test_flows_are_exchanges(got):
    plain = json.dumps(ANSWERED).encode()
    found = got(flow(plain) + flow(gzip.compress(plain)), "out.flow")
    assert [turn.raw for turn in found.only if turn.kind == "response"] == ['{"berth": 7,}'] * 2
    assert [turn.raw for turn in found.only if turn.kind == "prompt"] == ["berth?"]
    assert found.problems == []


def test_what_is_cut_or_damaged_is_said(got):
    whole = flow(json.dumps(ANSWERED).encode())
    cut, damaged = got(whole + whole[:-30], "cut.flow"), got(whole + b"12:9999999:x,,#}", "bad.flow")
    assert [len(found.only) for found in (cut, damaged)] == [2, 2]
    assert ["flow 2 is" in problem.reason for found in (cut, damaged) for problem in found.problems] == [True, True]


@pytest.mark.parametrize(
    "strange",
    [
        b"6:0:]0:,}",
        tnetstring({"request": {"content": 3}, "response": None}),
        tnetstring({"request": {"method": 1, "host": 2, "path": None}, "response": b"no object"}),
    ],
    ids=["a list as a key", "a number as a body", "a text as a response"],
)
def test_a_flow_of_other_types_raises_nothing(got, strange):
    found = got(flow(json.dumps(ANSWERED).encode()) + strange, "odd.flow")
    assert [turn.raw for turn in found.only if turn.kind == "response"][:1] == ['{"berth": 7,}']
