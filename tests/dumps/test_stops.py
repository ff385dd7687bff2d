"""Why a model stopped: one reason for the words of all providers, wherever bodies say them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from webapp.dumps.messages.beside import REASONS, stop, stop_of
from webapp.dumps.messages.streams import assembled
from webapp.dumps.reading import read
from webapp.dumps.records import Turn


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        *(("stop", "complete"), ("end_turn", "complete"), ("STOP", "complete"), ("tool-calls", "tool_call")),
        *(("tool_use", "tool_call"), ("MAX_TOKENS", "length"), ("max_tokens", "length"), ("SAFETY", "filtered")),
        *(("content-filter", "filtered"), ("refusal", "refused"), ("MALFORMED_FUNCTION_CALL", "malformed")),
        *(("model_context_window_exceeded", "context"), ("pause_turn", "paused"), ("error", "error")),
        *(("FinishReason.MAX_TOKENS", "length"), ("made up", "other"), ("<FinishReason.STOP: 'STOP'>", "complete")),
        # all of Google's, Amazon's, Cohere's, DeepSeek's, xAI's and vLLM's that those above are not
        *(("RECITATION", "filtered"), ("LANGUAGE", "filtered"), ("OTHER", "other"), ("BLOCKLIST", "filtered")),
        *(
            ("PROHIBITED_CONTENT", "filtered"),
            ("SPII", "filtered"),
            ("IMAGE_SAFETY", "filtered"),
            ("NO_IMAGE", "other"),
        ),
        *(("UNEXPECTED_TOOL_CALL", "malformed"), ("TOO_MANY_TOOL_CALLS", "error"), ("MALFORMED_RESPONSE", "malformed")),
        *(("IMAGE_PROHIBITED_CONTENT", "filtered"), ("IMAGE_RECITATION", "filtered"), ("IMAGE_OTHER", "other")),
        *(
            ("MISSING_THOUGHT_SIGNATURE", "error"),
            ("guardrail_intervened", "filtered"),
            ("content_filtered", "filtered"),
        ),
        *(("malformed_model_output", "malformed"), ("malformed_tool_use", "malformed"), ("stop_sequence", "complete")),
        *(
            ("FINISH", "complete"),
            ("CONTENT_FILTERED", "filtered"),
            ("COMPLETE", "complete"),
            ("ERROR_TOXIC", "filtered"),
        ),
        *(("ERROR_LIMIT", "context"), ("USER_CANCEL", "error"), ("TIMEOUT", "error"), ("MaxTokens", "length")),
        *(("insufficient_system_resource", "error"), ("model_length", "length"), ("abort", "error"), ("…", "other")),
        *(("REASON_MAX_CONTEXT", "context"), ("REASON_TOOL_CALLS", "tool_call"), ("eos_token", "complete")),
        *(
            ("limit", "length"),
            ("word", "complete"),
            ("max_output_tokens", "length"),
            ("max_prompt_tokens", "context"),
            ("compaction", "paused"),
        ),
    ],
)
def test_a_word_has_a_reason(word: str, reason: str) -> None:
    assert stop(word) == (reason, word)


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


def test_a_span_whose_answer_is_empty_says_why_it_stopped(tmp_path: Path) -> None:
    def span(**values: Any) -> list[Turn]:
        listed = [{"key": key.replace("__", "."), "value": {"stringValue": value}} for key, value in values.items()]
        one = {"traceId": "a" * 32, "spanId": "b" * 16, "name": "chat", "attributes": listed}
        path = tmp_path / "spans.json"
        path.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [one]}]}]}))
        return [turn for turn in read(path, "spans.json") if isinstance(turn, Turn)]

    about = {"gen_ai__operation__name": "chat", "gen_ai__response__finish_reasons": '["tool_calls"]'}
    silent = json.dumps([{"role": "assistant", "parts": [], "finish_reason": "tool_calls"}])
    (turn,) = span(**about, gen_ai__output__messages=silent)
    assert (turn.kind, turn.raw, turn.stop) == ("response", None, ("tool_call", "tool_calls"))
    assert [turn.kind for turn in span(**about)] == ["event"], "where messages are not recorded, nobody knows"
