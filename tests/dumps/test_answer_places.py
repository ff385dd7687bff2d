"""What stands where others have an answer is named, and what other entries say of themselves is not."""

from __future__ import annotations

import pytest

from webapp.dumps.answer_places import AnswerPlaces
from webapp.dumps.records import Turn

ANSWERED = {"type": "assistant", "say": "A", "at": "t", "more": {"role": "model", "text": "B"}}
NOTHING = [(Turn(0, "event"), None)]


@pytest.fixture
def places():
    places = AnswerPlaces()
    turns = [(Turn(0, "response", "A"), ("say",)), (Turn(0, "response", "B"), ("more", "text"))]
    for _ in range(100):
        places.learn(ANSWERED, turns)
    return places


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"type": "assistant", "x_say": "Hi"}, "'x_say' stands where other entries have 'say'"),
        ({"type": "assistant", "say": ["Hi"]}, "'say' is no text"),
        ({"type": "assistant", "say": {"x": {"y": "Hi"}}}, "'say' is no text"),
        ({"type": "assistant", "say": "", "more": {"role": "model", "x": "Hi"}}, "'x' stands where"),
        ({"type": "other", "say": "Hi"}, "say holds a text where other entries hold an answer"),
        ({"type": "new", "toolCalls": [{"name": "f", "args": {"a": 1}}]}, "calls under 'toolCalls' were left out"),
        ({"type": "new", "name": "f", "arguments": {"a": 1}}, "it has arguments, as calls do"),
        ({"type": "new", "call": '{"function": {"arguments": "{}"}}'}, "calls under 'call' were left out"),
    ],
)
def test_what_may_be_an_answer_is_named(places, entry, said):
    [note] = places.unread(entry, NOTHING)
    assert note.startswith(said)


@pytest.mark.parametrize(
    "entry",
    [
        {"type": "assistant", "say": ""},
        {"type": "assistant", "say": None, "more": {"role": "model", "text": ""}, "x_say": "Hi"},
        {"type": "assistant", "at": "2026-01-01 10:00"},
        {"type": "assistant", "session_id": "s", "createdAt": "t", "model": "m"},
        {"type": "user", "x_say": "Hi"},
        {"type": "assistant", "say": "", "more": {"role": "user", "x": "Hi"}},
        {"type": "new", "tools": [{"name": "f", "parameters": {"type": "object"}}]},
        {"type": "new", "tool_call_id": "c", "function": "f", "recall": 0.5},
        {"type": "new", "calls": 3, "tool_calls": [], "function_call": None},
    ],
)
def test_what_is_none_is_not(places, entry):
    assert list(places.unread(entry, NOTHING)) == []


@pytest.mark.parametrize("kind", ["tool_call", "tool_result", "error"])
def test_calls_beside_what_was_read_of_them_are_none(places, kind):
    entry = {"type": "new", "tool_call": {"arguments": "{}"}}
    assert list(places.unread(entry, [(Turn(0, kind, "x"), None)])) == []
    assert list(places.unread(entry, [(Turn(0, "response", "x"), None)])) != []


def test_keys_of_what_is_of_no_kind_may_be_anything():
    places = AnswerPlaces()
    places.learn({"attributes": {"completion": "A"}}, [(Turn(0, "response", "A"), ("attributes", "completion"))])
    assert list(places.unread({"attributes": {"another": "a text"}}, NOTHING)) == []
