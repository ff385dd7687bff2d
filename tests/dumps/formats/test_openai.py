"""OpenAI messages: texts, each tool call's arguments as a response of its own, and what belongs to whom."""

from __future__ import annotations

import json

import pytest


def shown(turns) -> list[tuple]:
    return [(turn.entry, turn.kind, turn.raw, turn.raw_at) for turn in turns]


@pytest.mark.parametrize(
    ("message", "raw", "raw_at"),
    [
        ({"content": None}, None, None),
        ({}, None, None),
        ({"content": ""}, "", ("content",)),
        ({"content": 5}, "5", None),
        ({"content": {"a": 1}}, '{"a":1}', None),
        ({"content": []}, None, None),
        ({"content": ["one"]}, "one", ("content", 0)),
        ({"content": [{"type": "image_url"}, {"type": "text", "text": 3}]}, None, None),
        ({"content": None, "refusal": "No."}, "No.", ("refusal",)),
        ({"content": "x", "tool_calls": "none"}, "x", ("content",)),
        ({"content": "x", "tool_calls": [None, {}, {"function": 3}]}, "x", ("content",)),
    ],
)
def test_odd_contents(got, message, raw, raw_at):
    entry = {"role": "assistant", **message}
    found = got(json.dumps([entry]), named="openai")
    assert shown(found.only) == [(0, "response", raw, raw_at)]
    assert found.entries() == [entry]


def test_messages_of_no_list(got):
    with pytest.raises(ValueError, match="messages: expected a list, found a number"):
        got('{"messages": 3}')
