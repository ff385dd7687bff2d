"""Why a model stopped: the words of all providers as one of ten reasons, and where bodies say them."""

from __future__ import annotations

from typing import Any

from webapp.dumps.records import Stop
from webapp.dumps.values import as_list, as_object, text

REASONS = {
    "complete": ("stop", "end_turn", "stop_sequence", "completed", "complete", "eos", "eos_token", "end", "finished"),
    "tool_call": (
        *("tool_calls", "tool_call", "tool_use", "tool-calls", "function_call", "tool_use_requested", "tooluse"),
        "tool-use",
        "function_calls",
    ),
    "length": (
        *("length", "max_tokens", "max_output_tokens", "max_length", "model_length", "token_limit", "maxtokens"),
        *("max_completion_tokens", "max_new_tokens", "incomplete_length", "error_max_tokens"),
    ),
    "filtered": (
        *("content_filter", "content-filter", "safety", "recitation", "blocklist", "prohibited_content", "spii"),
        *(
            "guardrail_intervened",
            "content_filtered",
            "image_safety",
            "language",
            "error_toxic",
            "filtered",
            "model_armor",
        ),
    ),
    "refused": ("refusal", "refused"),
    "malformed": (
        *("malformed_function_call", "malformed_tool_use", "malformed_model_output", "unexpected_tool_call"),
        *("invalid_tool_call", "malformed_response"),
    ),
    "context": ("model_context_window_exceeded", "context_length_exceeded", "context_window_exceeded"),
    "paused": ("pause_turn", "paused"),
    "error": ("error", "failed", "cancelled", "canceled", "aborted", "abort"),
}
"""each reason with the providers' words for it, in lower case"""
_BY_WORD = {word: reason for reason, words in REASONS.items() for word in words}
_NOTHING = ("", "null", "none", "unspecified", "finish_reason_unspecified", "in_progress", "queued")
_KEYS = ("finish_reason", "stop_reason", "finishReason", "stopReason", "done_reason")
_INTO = ("response", "message", "output", "choices", "candidates", "response_metadata", "kwargs", "data")
_DEPTH = 5


def stop(word: Any) -> Stop | None:
    """The reason that a provider's word means; None for a word that says nothing."""
    if isinstance(word, dict):  # Vercel's newer SDK has both words
        word = word.get("raw") or word.get("unified")
    if not isinstance(word, str) or word.lower() in _NOTHING:
        return None
    plain = word.lower().removeprefix("finish_reason_").rpartition(".")[2]
    return Stop(_BY_WORD.get(plain) or _BY_WORD.get(plain.replace("-", "_"), "other"), word)


def stop_of(value: Any, depth: int = _DEPTH) -> Stop | None:
    """What a body, one of its choices, or an entry that holds one says; None where it does not say."""
    if isinstance(value, list):
        value = value[0] if value else None
    if not isinstance(value, dict) or depth == 0:
        return None
    for key in _KEYS:
        if found := stop(value.get(key)):
            refused = as_object(value.get("message")).get("refusal") or value.get("refusal")
            return Stop("refused", found.said) if found.reason == "complete" and text(refused) else found
    if found := stop(as_object(value.get("incomplete_details")).get("reason")):
        return found
    if value.get("object") == "response" and (found := stop(value.get("status"))):
        refused = any(_refuses(item) for item in as_list(value.get("output")))
        return Stop("refused", found.said) if refused and found.reason == "complete" else found
    return next((found for key in _INTO if (found := stop_of(value.get(key), depth - 1))), None)


def _refuses(item: Any) -> bool:
    return any(as_object(part).get("type") == "refusal" for part in as_list(as_object(item).get("content")))
