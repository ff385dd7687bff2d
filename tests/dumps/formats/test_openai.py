"""OpenAI messages: texts, each tool call's arguments as a response of its own, and what belongs to whom."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest


def shown(turns) -> list[tuple]:
    return [(turn.entry, turn.kind, turn.raw, turn.raw_at) for turn in turns]


CHOICES = {"choices": [{"message": {"role": "assistant", "content": "{}"}}]}


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


@pytest.mark.parametrize("key", ["timestamp", "created_at", "created", "ts", "time", "datetime", "start_time"])
@pytest.mark.parametrize("value", [1_760_000_000, 1_760_000_000_000, "2025-10-09T08:53:20Z"])
def test_the_time_of_a_logged_exchange_is_read_under_the_usual_names(got, key: str, value: object) -> None:
    line = {key: value, "request": {"messages": [{"role": "user", "content": "q"}]}, "response": CHOICES}
    found = got(json.dumps(line) + "\n", "log.jsonl")
    assert {turn.sent_at for turn in found.only} == {datetime(2025, 10, 9, 8, 53, 20, tzinfo=UTC)}
