"""Anthropic messages: blocks apart, calls as calls, thinking apart, failures where an answer reports them."""

from __future__ import annotations

import json

MESSAGES = [
    {"role": "user", "content": "What is the weather?"},
    {
        "role": "assistant",
        "model": "claude",
        "usage": {"input_tokens": 10, "output_tokens": 5},
        "content": [
            {"type": "thinking", "thinking": "I should look.", "signature": "x"},
            {"type": "text", "text": "Let me "},
            {"type": "text", "text": "look."},
            {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Rome"}},
        ],
    },
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "18"}]}],
    },
    {"role": "assistant", "content": [{"type": "text", "text": '{"degrees": 18}'}]},
]


def test_blocks_are_turns_of_their_own(got):
    found = got(json.dumps(MESSAGES))
    assert found.starts[0].source_format == "anthropic"
    assert [(turn.kind, turn.role, turn.raw) for turn in found.only] == [
        ("prompt", "user", "What is the weather?"),
        ("event", "thinking", "I should look."),
        ("response", "assistant", "Let me look."),
        ("tool_call", "assistant", '{"city":"Rome"}'),
        ("tool_result", "tool", "18"),
        ("response", "assistant", '{"degrees": 18}'),
    ]
    assert found.entries() == MESSAGES


def test_what_is_known_of_them(got):
    turns = got(json.dumps(MESSAGES)).only
    assert [turn.raw_at for turn in turns if turn.source is not None] == [
        ("content",),
        ("content", 0, "thinking"),
        ("content", 0, "content", 0, "text"),
        ("content", 0, "text"),
    ]
    assert [(turn.tokens_in, turn.tokens_out) for turn in turns[1:4]] == [(None, None), (10, 5), (None, None)]
    assert (turns[3].agent, turns[4].agent, turns[4].parent) == ("weather", "weather", "t1")
    assert turns[2].model == "claude"


def test_a_document_with_a_system_prompt(got):
    document = {"system": "Be brief.", "model": "claude-x", "messages": [{"role": "user", "content": "Hi"}], "id": "c1"}
    found = got(json.dumps(document))
    assert (found.starts[0].source_format, found.ids) == ("anthropic", ["c1"])
    assert found.starts[0].extra["system"] == "Be brief."


def test_a_response_alone_and_requests_with_responses(got):
    response = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "c",
        "content": [{"type": "text", "text": "A"}],
    }
    found = got(json.dumps({**response, "stop_reason": "end_turn"}))
    assert [(turn.kind, turn.raw, turn.model) for turn in found.only] == [("response", "A", "c")]
    lines = [
        {
            "request": {"system": "S", "messages": MESSAGES[:1]},
            "response": {**response, "content": MESSAGES[1]["content"]},
        },
        {"request": {"system": "S", "messages": MESSAGES[:3]}, "response": response},
    ]
    found = got("\n".join(map(json.dumps, lines)), "x.jsonl")
    assert found.starts[0].source_format == "anthropic"
    assert [(turn.kind, turn.raw) for turn in found.only] == [
        ("prompt", "S"),
        ("prompt", "What is the weather?"),
        ("event", "I should look."),
        ("response", "Let me look."),
        ("tool_call", '{"city":"Rome"}'),
        ("tool_result", "18"),
        ("response", "A"),
    ]
    assert found.entries() == lines


def test_plain_texts_stay_openais(got):
    assert got(json.dumps([MESSAGES[0]])).starts[0].source_format == "openai"


def test_results_within_results(got):
    inner: object = "x"
    for _ in range(180):
        inner = [{"type": "tool_result", "content": inner}]
    found = got(json.dumps([{"role": "user", "content": inner}]))
    assert [turn.kind for turn in found.only] == ["tool_result"]
    assert found.entries() == [{"role": "user", "content": inner}]


def test_odd_blocks_do_no_harm(got):
    odd = [None, 3, {}, {"type": "tool_use"}, {"type": "tool_result"}, {"type": "thinking"}, {"type": 3}, "text"]
    found = got(json.dumps([{"role": "assistant", "content": odd}]))
    assert [(turn.kind, turn.raw) for turn in found.only] == [
        ("tool_call", None),
        ("tool_result", None),
        ("response", "text"),
    ]
    assert found.entries() == [{"role": "assistant", "content": odd}]


def test_exchanges_have_their_time_and_a_providers_own_tool_is_told_once(got):
    asked = [{"role": "user", "content": "Q"}]
    said = [
        {"type": "server_tool_use", "id": "w", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "w", "content": [{"type": "text", "text": "R"}]},
        {"type": "text", "text": "A"},
    ]
    answer = {"type": "message", "role": "assistant", "model": "c", "content": said}
    again = [*asked, {"role": "assistant", "content": said}, {"role": "user", "content": "more"}]
    lines = [{"request": {"messages": messages}, "response": answer} for messages in (asked, again)]
    lines[1] = {**lines[1], "timestamp": "2025-05-01T00:00:00Z"}
    turns = got("\n".join(map(json.dumps, lines)), "log.jsonl").only
    assert [turn.raw for turn in turns if not turn.entry] == ["Q", '{"query":"q"}', "R", "A"]
    assert [turn.raw for turn in turns if turn.entry] == ["more", '{"query":"q"}', "R", "A"]
    assert [turn.sent_at and turn.sent_at.year for turn in turns] == [None] * 4 + [2025] * 4


def test_what_a_batch_answered(got):
    answer = {"type": "message", "role": "assistant", "model": "c", "content": [{"type": "text", "text": "{}"}]}
    lines = [{"custom_id": "a", "result": {"type": "succeeded", "message": answer}}]
    lines.append({"custom_id": "b", "result": {"type": "errored", "error": {"type": "error"}}})
    found = got("\n".join(map(json.dumps, lines)), "batch.jsonl")
    assert [(turn.kind, turn.raw, turn.model) for turn in found.only] == [
        ("response", "{}", "c"),
        ("error", '{"type":"error"}', None),
    ]
    assert found.entries() == lines
