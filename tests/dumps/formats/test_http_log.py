"""HTTP exchanges: five providers' bodies, streams put together, what was refused, what is no model's answer."""

from __future__ import annotations

import json

from tests.dumps.conftest import gather


def exchanged(request: object, response: object, **more: object) -> str:
    line = {"method": "POST", "uri": "https://api.example/v1", "status": 200, "request": request, "response": response}
    return json.dumps({**line, **more})


CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}}'}}
BODIES = {
    "openai": {"choices": [{"message": {"role": "assistant", "content": "A", "tool_calls": [CALL]}}], "model": "m"},
    "responses": {
        "output": [
            {"type": "reasoning", "summary": []},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "A"}]},
            {"type": "function_call", "name": "f", "arguments": '{"a": 1}}', "call_id": "c"},
        ]
    },
    "anthropic": {
        "role": "assistant",
        "content": [{"type": "text", "text": "A"}, {"type": "tool_use", "id": "c", "name": "f", "input": '{"a": 1}}'}],
    },
    "google": {
        "candidates": [{"content": {"parts": [{"text": "A"}, {"functionCall": {"name": "f", "args": '{"a": 1}}'}}]}}]
    },
    "bedrock": {
        "output": {
            "message": {
                "role": "assistant",
                "content": [{"text": "A"}, {"toolUse": {"toolUseId": "c", "name": "f", "input": '{"a": 1}}'}}],
            }
        }
    },
    "cohere": {"message": {"role": "assistant", "content": [{"type": "text", "text": "A"}], "tool_calls": [CALL]}},
}


def sse(*events: dict) -> str:
    return "".join(f"event: x\ndata: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n"


STREAMS = {
    "openai": sse(
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "A"}}]},
        {"choices": [{"index": 0, "delta": {"content": "B"}}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f"}}]}}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": '{"a"'}}]}}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": " 1}"}}]}}]},
    ),
    "anthropic": sse(
        {"type": "message_start", "message": {"role": "assistant", "content": [], "usage": {"input_tokens": 3}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "A"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "B"}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "name": "f", "input": {}}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"a"'}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": " 1}"}},
    ),
    "google": sse(
        {"candidates": [{"content": {"parts": [{"text": "A"}]}}]},
        {"candidates": [{"content": {"parts": [{"text": "B"}, {"functionCall": {"name": "f", "args": '{"a" 1}'}}]}}]},
    ),
    "bedrock": "\0\0:event-type\x07"
    + "\0".join(
        json.dumps(event)
        for event in (
            {"contentBlockIndex": 0, "delta": {"text": "A"}},
            {"contentBlockIndex": 0, "delta": {"text": "B"}},
            {"contentBlockIndex": 1, "start": {"toolUse": {"name": "f", "toolUseId": "c"}}},
            {"contentBlockIndex": 1, "delta": {"toolUse": {"input": '{"a" 1}'}}},
        )
    ),
    "responses": sse({"type": "response.created"}, {"type": "response.completed", "response": BODIES["responses"]}),
}
STREAMS["responses, cut"] = sse(
    {"type": "response.created", "response": {"id": "r", "output": []}},
    {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "role": "assistant"}},
    {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "A"},
    {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "B"},
    {"type": "response.output_item.added", "output_index": 1, "item": {"type": "function_call", "name": "f"}},
    {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": '{"a"'},
    {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": " 1}"},
)
STREAMS["cohere"] = sse(
    {"type": "message-start", "delta": {"message": {"role": "assistant", "content": []}}},
    {"type": "content-start", "index": 0, "delta": {"message": {"content": {"type": "text", "text": ""}}}},
    {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "A"}}}},
    {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "B"}}}},
    {"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": {"function": {"name": "f"}}}}},
    {
        "type": "tool-call-delta",
        "index": 0,
        "delta": {"message": {"tool_calls": {"function": {"arguments": '{"a" 1}'}}}},
    },
    {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}},
)


def test_what_was_refused_and_what_is_no_answer(got):
    lines = [
        exchanged({"model": "m"}, {"error": {"message": "no such model"}}, status=404),
        exchanged(None, {"input_tokens": 3}),
        exchanged(None, None, response_text=""),
        exchanged(None, None, response_text="{" * 50_000),
    ]
    found = got("\n".join(lines), "x.jsonl")
    assert [(turn.kind, turn.raw) for turn in found.only] == [("error", "no such model"), *[("event", None)] * 3]


def test_every_answer_of_the_corpus_is_read(shared):
    path = shared / "corpus" / "pydantic_ai" / "http_log.first300.jsonl"
    found = gather(path, path.name)
    silent = [
        turn.source["uri"].rpartition("/")[2].partition("?")[0]
        for turns in found.turns
        for turn in turns
        if turn.kind == "event" and turn.role not in ("thinking", "compaction") and turn.source["status"] == 200
    ]
    assert not [uri for uri in silent if uri in ("messages", "completions", "responses", "chat", "converse")]
