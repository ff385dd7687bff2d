"""Why a model stopped: one reason for the words of all providers, wherever bodies say them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.dumps.formats.test_otlp import span, trace
from webapp.dumps.messages.metadata import REASONS, stop, stop_of
from webapp.dumps.messages.streams import assembled
from webapp.dumps.reading import read
from webapp.dumps.records import Turn

WORDS = """
complete: stop, word, end_turn, STOP, stop_sequence, FINISH, COMPLETE, eos_token, <FinishReason.STOP: 'STOP'>
tool_call: tool-calls, tool_use, REASON_TOOL_CALLS
length: limit, MAX_TOKENS, max_tokens, FinishReason.MAX_TOKENS, MaxTokens, model_length, max_output_tokens
filtered: SAFETY, content-filter, RECITATION, LANGUAGE, BLOCKLIST, PROHIBITED_CONTENT, SPII, IMAGE_SAFETY
filtered: IMAGE_PROHIBITED_CONTENT, IMAGE_RECITATION, guardrail_intervened, content_filtered, ERROR_TOXIC
filtered: CONTENT_FILTERED
refused: refusal
malformed: MALFORMED_FUNCTION_CALL, UNEXPECTED_TOOL_CALL, MALFORMED_RESPONSE, malformed_model_output, malformed_tool_use
context: model_context_window_exceeded, ERROR_LIMIT, REASON_MAX_CONTEXT, max_prompt_tokens
paused: pause_turn, compaction
error: error, TOO_MANY_TOOL_CALLS, MISSING_THOUGHT_SIGNATURE, USER_CANCEL, TIMEOUT, insufficient_system_resource, abort
other: made up, OTHER, NO_IMAGE, IMAGE_OTHER, …
"""
"""of OpenAI, Anthropic, Google, Amazon, Cohere, DeepSeek, xAI and vLLM"""


@pytest.mark.parametrize("line", WORDS.split("\n")[1:-1])
def test_a_word_has_a_reason(line: str) -> None:
    reason, _, words = line.partition(": ")
    assert {word: stop(word) for word in words.split(", ")} == {word: (reason, word) for word in words.split(", ")}


def test_no_word_means_two_reasons() -> None:
    words = [word for each in REASONS.values() for word in each]
    assert len(words) == len(set(words))
    assert {stop(word) for word in ("", "null", None, True, 0, "FINISH_REASON_UNSPECIFIED", "in_progress")} == {None}
    assert [stop(number) for number in (2, 7)] == [("length", "MAX_TOKENS"), ("other", "7")]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"choices": [{"finish_reason": "length", "message": {}}]}, ("length", "length")),
        ({"choices": [{"finish_reason": "stop", "message": {"refusal": "No."}}]}, ("refused", "stop")),
        ({"object": "response", "status": "completed", "output": []}, ("complete", "completed")),
        (
            {"object": "response", "status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
            ("filtered", "content_filter"),
        ),
        (
            {"object": "response", "status": "completed", "output": [{"content": [{"type": "refusal"}]}]},
            ("refused", "completed"),
        ),
        ({"stop_reason": "max_tokens"}, ("length", "max_tokens")),
        ({"output": {"message": {}}, "stopReason": "guardrail_intervened"}, ("filtered", "guardrail_intervened")),
        ({"done": True, "done_reason": "length"}, ("length", "length")),
        ({"results": [{"outputText": "a", "completionReason": "LENGTH"}]}, ("length", "LENGTH")),
        (
            {"choices": [{"finish_reason": "stop", "native_finish_reason": "MALFORMED_FUNCTION_CALL"}]},
            ("malformed", "MALFORMED_FUNCTION_CALL"),
        ),
        ({"choices": [{"finish_reason": "stop", "native_finish_reason": "completed"}]}, ("complete", "stop")),
        ({"choices": [{"finish_reason": {"type": "abort", "message": "gone"}}]}, ("error", "abort")),
        ({"status": "completed"}, None),
        ({"choices": []}, None),
    ],
)
def test_a_body_says_why(body: dict[str, Any], expected: tuple[str, str] | None) -> None:
    assert stop_of(body) == expected


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        (
            (
                'data: {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "a"}}]}\n'
                'data: {"object": "chat.completion.chunk", '
                '"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}'
            ),
            "length",
        ),
        (
            (
                'data: {"type": "message_start", "message": {"role": "assistant", "content": []}}\n'
                'data: {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "a"}}\n'
                'data: {"type": "message_delta", "delta": {"stop_reason": "refusal"}}'
            ),
            "refused",
        ),
        (
            (
                'data: {"candidates": [{"content": {"parts": [{"text": "a"}]}}]}\n'
                'data: {"candidates": [{"content": {"parts": [{"text": "b"}]}, "finishReason": "SAFETY"}]}'
            ),
            "filtered",
        ),
        (
            (
                '{"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "a"}}}\n'
                '{"messageStop": {"stopReason": "max_tokens"}}'
            ),
            "length",
        ),
        (
            (
                '{"message": {"content": "a"}, "done": false}\n'
                '{"message": {"content": ""}, "done": true, "done_reason": "length"}'
            ),
            "length",
        ),
    ],
)
def test_a_stream_says_why(stream: str, reason: str) -> None:
    found = stop_of(assembled(stream))
    assert found is not None and found.reason == reason


def test_each_step_of_a_message_says_why_it_stopped(tmp_path: Path) -> None:
    tool = {"type": "tool", "tool": "f", "callID": "c", "state": {"status": "completed", "input": {}, "output": "7"}}
    end = {"type": "step-finish", "reason": "tool-calls"}
    parts = [{"type": "text", "text": "a"}, tool, end, {"type": "text", "text": "b"}]
    info = {"id": "m", "role": "assistant", "sessionID": "s", "finish": "length"}
    (tmp_path / "a.json").write_text(json.dumps({"info": {"id": "s"}, "messages": [{"info": info, "parts": parts}]}))
    turns = [turn for turn in read(tmp_path / "a.json", "a.json") if isinstance(turn, Turn) and turn.kind != "event"]
    words = ("response", "tool-calls"), ("tool_call", "tool-calls"), ("tool_result", None), ("response", "length")
    assert tuple((turn.kind, turn.stop and turn.stop.said) for turn in turns) == words


def test_a_span_whose_answer_is_empty_says_why_it_stopped(got) -> None:
    about = {"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": '["tool_calls"]'}
    silent = json.dumps([{"role": "assistant", "parts": [], "finish_reason": "tool_calls"}])
    (turn,) = got(trace(span({**about, "gen_ai.output.messages": silent}))).only
    assert (turn.kind, turn.raw, turn.stop) == ("response", None, ("tool_call", "tool_calls"))
    assert [turn.kind for turn in got(trace(span(about))).only] == ["event"], "nobody knows what was not recorded"
