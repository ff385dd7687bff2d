"""OpenAI messages: texts, each tool call's arguments as a response of its own, and what belongs to whom."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

CALL = {"id": "c1", "type": "function", "function": {"name": "run", "arguments": '{"code": "1+1"}}'}}
OTHER = {"id": "c2", "type": "function", "function": {"name": "stop", "arguments": "{}"}}
MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "What is "}, {"type": "text", "text": "1+1?"}]},
    {"role": "assistant", "content": None, "tool_calls": [CALL, OTHER]},
    {"role": "tool", "tool_call_id": "c1", "content": "2"},
    {"role": "assistant", "content": "Two.", "tool_calls": [OTHER]},
    {"role": "assistant", "content": [{"type": "text", "text": '{"answer": 2}'}], "name": "adder"},
]


def shown(turns) -> list[tuple]:
    return [(turn.entry, turn.kind, turn.raw, turn.raw_at) for turn in turns]


CHOICES = {"choices": [{"message": {"role": "assistant", "content": "{}"}}]}
EXPECTED = [
    (0, "prompt", "Be brief.", ("content",)),
    (1, "prompt", "What is 1+1?", None),
    (2, "tool_call", '{"code": "1+1"}}', ("tool_calls", 0, "function", "arguments")),
    (2, "tool_call", "{}", None),
    (3, "tool_result", "2", ("content",)),
    (4, "response", "Two.", ("content",)),
    (4, "tool_call", "{}", None),
    (5, "response", '{"answer": 2}', ("content", 0, "text")),
]


@pytest.mark.parametrize(
    ("text", "filename", "session"),
    [
        pytest.param(json.dumps(MESSAGES), "chat.json", "chat", id="a list"),
        pytest.param("\n".join(map(json.dumps, MESSAGES)), "chat.jsonl", "chat", id="lines"),
        pytest.param(json.dumps({"messages": MESSAGES}), "chat.json", "chat", id="an object"),
        pytest.param(json.dumps({"messages": MESSAGES, "id": "own"}), "chat.json", "own", id="an object with an id"),
    ],
)
def test_messages_in_every_wrapping(got, text, filename, session):
    found = got(text, filename)
    assert (found.ids, found.problems) == ([session], [])
    assert found.starts[0].source_format == "openai"
    assert shown(found.only) == EXPECTED
    assert found.entries() == MESSAGES


def test_one_conversation_a_line(got):
    lines = [{"messages": MESSAGES, "id": name} for name in ("a", "b", "a")] + [{"messages": MESSAGES[:1]}]
    found = got("\n".join(map(json.dumps, lines)), "many.jsonl")
    assert found.ids == ["a", "b", "a (2)", "many-4"]
    assert [problem.at for problem in found.problems] == ["session 'a'"]
    assert shown(found.turns[1]) == EXPECTED


def test_a_list_of_conversations(got):
    found = got(json.dumps([{"messages": MESSAGES[:2], "id": 1}, {"messages": 3}, {"messages": [4]}]), "many.json")
    assert found.ids == ["1", "many-3"]
    assert [problem.at for problem in found.problems] == ["[0]", "[1]", "[2], messages[0]"]


def test_tools_models_times_and_tokens(got):
    message = {
        "role": "assistant",
        "content": "x",
        "model": "gpt",
        "created_at": "2025-12-01T10:00:00+01:00",
        "usage": {"prompt_tokens": 5, "completion_tokens": 7},
        "round": 2,
        "phase": "plan",
    }
    found = got(json.dumps({"messages": [*MESSAGES, message], "model": "fallback", "title": "Sums"}))
    turns = found.only
    assert found.starts[0].title == "Sums"
    assert [turn.agent for turn in turns] == [None, None, "run", "stop", "run", None, "stop", "adder", None]
    assert [turn.model for turn in turns] == [None, None, "fallback", "fallback", None, *["fallback"] * 3, "gpt"]
    assert turns[4].parent == "c1"
    assert turns[2].tool_calls == [CALL]
    last = turns[-1]
    assert (last.sent_at, last.tokens_in, last.tokens_out) == (datetime(2025, 12, 1, 9, 0, tzinfo=UTC), 5, 7)
    assert (last.round, last.phase) == (2, "plan")


def test_the_legacy_function_call(got):
    message = {"role": "assistant", "content": None, "function_call": {"name": "run", "arguments": "{'a': 1}"}}
    found = got(json.dumps([message]))
    assert shown(found.only) == [(0, "tool_call", "{'a': 1}", ("function_call", "arguments"))]
    assert found.entries() == [message]


def test_arguments_that_are_no_text_are_written_as_json(got):
    message = {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "function": {"arguments": {"a": "é"}}}]}
    found = got(json.dumps([message]))
    assert shown(found.only) == [(0, "tool_call", '{"a":"é"}', None)]
    assert found.entries() == [message]


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


def test_requests_with_their_responses(got):
    answer = {"role": "assistant", "content": "Two."}
    first = {"request": {"model": "m", "messages": MESSAGES[:1]}, "response": {"choices": [{"message": answer}]}}
    again = [*MESSAGES[:1], answer, {"role": "user", "content": "And 2+2?"}]
    second = {
        "request": {"messages": again},
        "response": {"model": "n", "choices": [{"message": {**answer, "content": "4"}}]},
    }
    found = got("\n".join(map(json.dumps, (first, second))), "log.jsonl")
    assert [(turn.entry, turn.kind, turn.raw, turn.model) for turn in found.only] == [
        (0, "prompt", "Be brief.", None),
        (0, "response", "Two.", "m"),
        (1, "prompt", "And 2+2?", None),
        (1, "response", "4", "n"),
    ]
    assert found.entries() == [first, second]


def test_a_whole_response_alone(got):
    body = {"id": "x", "model": "m", "choices": [{"index": 0, "message": {"role": "assistant", "content": "{}"}}]}
    found = got(json.dumps(body))
    assert [(turn.kind, turn.raw, turn.model) for turn in found.only] == [("response", "{}", "m")]
    assert found.entries() == [body]


def test_the_responses_api(got):
    body = {
        "request": {"model": "m", "input": "Add one and one."},
        "response": {
            "output": [
                {"type": "reasoning", "summary": []},
                {"type": "function_call", "name": "add", "arguments": '{"a": 1', "call_id": "c"},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "2"}]},
            ]
        },
    }
    found = got(json.dumps(body))
    assert [(turn.kind, turn.raw, turn.agent) for turn in found.only] == [
        ("prompt", "Add one and one.", None),
        ("tool_call", '{"a": 1', "add"),
        ("response", "2", None),
    ]
    assert found.entries() == [body]


def test_what_the_responses_api_thinks_calls_and_spends(got):
    said = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm {"}]},
        {"type": "function_call", "name": "add", "arguments": '{"a": 1,}', "call_id": "c"},
        {"type": "custom_tool_call", "name": "sql", "input": "SELECT 1", "call_id": "d"},
        {"type": "mcp_call", "id": "e", "name": "roll", "arguments": "{}", "output": "4"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "2"}]},
    ]
    body = {"model": "m", "created_at": 1700000000, "output": said, "usage": {"input_tokens": 3, "output_tokens": 4}}
    asked = [{"role": "user", "content": "Q"}]
    again = [
        *asked,
        *said,
        {"type": "function_call_output", "call_id": "c", "output": "no JSON in the arguments: error"},
    ]
    lines = [{"request": {"instructions": "I", "input": asked}, "response": body}, {"request": {"input": again}}]
    lines[1]["response"] = {"output": said[-1:]}
    found = got("\n".join(map(json.dumps, lines)), "log.jsonl")
    assert [(turn.entry, turn.kind, turn.raw, turn.tokens_out) for turn in found.only] == [
        (0, "prompt", "I", None),
        (0, "prompt", "Q", None),
        (0, "event", "Hm {", None),
        (0, "tool_call", '{"a": 1,}', 4),
        (0, "tool_call", "SELECT 1", None),
        (0, "tool_call", "{}", None),
        (0, "tool_result", "4", None),
        (0, "response", "2", None),
        (1, "tool_result", "no JSON in the arguments: error", None),
        (1, "response", "2", None),
    ]
    assert {turn.sent_at for turn in found.only[2:8]} == {datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)}
    assert (found.only[3].failure, found.only[8].agent) == ("no JSON in the arguments: error", "add")
    assert found.entries() == lines


def test_items_of_the_responses_api_one_a_line(got):
    lines = [
        {"role": "user", "content": "Q"},
        {"type": "function_call", "name": "f", "arguments": '{"a"', "call_id": "c"},
        {"type": "function_call_output", "call_id": "c", "output": "R"},
    ]
    found = got("\n".join(map(json.dumps, lines)), "items.jsonl")
    assert [(turn.kind, turn.raw, turn.agent) for turn in found.only] == [
        ("prompt", "Q", None),
        ("tool_call", '{"a"', "f"),
        ("tool_result", "R", "f"),
    ]
    assert found.entries() == lines


def test_thinking_custom_calls_and_several_choices(got):
    custom = {"id": "d", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}
    first = {"message": {"role": "assistant", "reasoning_content": "Hm {", "content": None, "tool_calls": [custom]}}
    body = {"choices": [first, {"text": "two"}], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}
    found = got(json.dumps(body))
    assert [(turn.kind, turn.role, turn.raw, turn.tokens_out) for turn in found.only] == [
        ("event", "thinking", "Hm {", None),
        ("tool_call", "assistant", "SELECT 1", 4),
        ("response", "assistant", "two", None),
    ]


def test_what_a_batch_answered(got):
    body = {"choices": [{"message": {"role": "assistant", "content": "{}"}}], "model": "m"}
    lines = [{"custom_id": "a", "response": {"status_code": 200, "body": body}, "error": None}] * 2
    found = got("\n".join(map(json.dumps, lines)), "batch.jsonl")
    assert [(turn.kind, turn.raw, turn.model) for turn in found.only] == [("response", "{}", "m")] * 2
    assert found.entries() == lines


@pytest.mark.parametrize("response", ["Two.", {"role": "assistant", "content": "Two."}])
def test_messages_with_a_bare_response(got, response):
    lines = [{"messages": MESSAGES[:1], "response": response}] * 2
    found = got("\n".join(map(json.dumps, lines)), "log.jsonl")
    assert [turn.raw for turn in found.only] == ["Be brief.", "Two.", "Two."]


def test_lines_that_name_their_sessions(got):
    lines = [{**MESSAGES[0], "session_id": name} for name in "aba"]
    found = got("\n".join(map(json.dumps, lines)), "log.jsonl")
    assert (found.ids, [len(turns) for turns in found.turns]) == (["a", "b"], [2, 1])


def test_messages_of_no_list(got):
    with pytest.raises(ValueError, match="messages: expected a list, found a number"):
        got('{"messages": 3}')


@pytest.mark.parametrize("key", ["timestamp", "created_at", "created", "ts", "time", "datetime", "start_time"])
@pytest.mark.parametrize("value", [1_760_000_000, 1_760_000_000_000, "2025-10-09T08:53:20Z"])
def test_the_time_of_a_logged_exchange_is_read_under_the_usual_names(got, key: str, value: object) -> None:
    line = {key: value, "request": {"messages": [{"role": "user", "content": "q"}]}, "response": CHOICES}
    found = got(json.dumps(line) + "\n", "log.jsonl")
    assert {turn.sent_at for turn in found.only} == {datetime(2025, 10, 9, 8, 53, 20, tzinfo=UTC)}


def test_a_duration_is_no_time(got) -> None:
    line = {"time": 0.53, "request": {"messages": [{"role": "user", "content": "q"}]}, "response": CHOICES}
    assert {turn.sent_at for turn in got(json.dumps(line) + "\n", "log.jsonl").only} == {None}
