"""Why a model stopped: one reason for the words of all providers; where they say them is among the cases of formats."""

from __future__ import annotations

import pytest

from webapp.dumps.messages.metadata import REASONS, stop, stop_of

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
    assert stop_of({"status": "completed"}) is stop_of({"choices": []}) is None
