"""The metadata of messages: why the model stopped, who served it, and whether a result is an error."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any
from urllib.parse import urlsplit

from webapp.dumps.records import Stop
from webapp.dumps.values import as_list, as_object, text

REASONS = {
    "complete": (
        *("stop", "end_turn", "stop_sequence", "completed", "complete", "eos", "eos_token", "end", "finished"),
        *("finish", "stop_criteria_met", "endoftext", "end_of_text", "eot", "word"),
    ),
    "tool_call": ("tool_calls", "tool_call", "tool_use", "function_call", "function_calls", "tool_use_requested"),
    "length": (
        *("length", "max_tokens", "max_output_tokens", "max_length", "model_length", "token_limit", "max_len"),
        *("max_completion_tokens", "max_new_tokens", "incomplete_length", "error_max_tokens", "limit"),
    ),
    "filtered": (
        *("content_filter", "safety", "recitation", "blocklist", "prohibited_content", "spii", "guardrail_intervened"),
        *("content_filtered", "image_safety", "image_prohibited_content", "image_recitation", "language"),
        *("error_toxic", "filtered", "model_armor", "jailbreak"),
    ),
    "refused": ("refusal", "refused"),
    "malformed": (
        *("malformed_function_call", "malformed_tool_use", "malformed_model_output", "unexpected_tool_call"),
        *("invalid_tool_call", "malformed_response", "malformed_tool_call"),
    ),
    "context": (
        *("model_context_window_exceeded", "context_length_exceeded", "context_window_exceeded", "max_context"),
        *("max_prompt_tokens", "error_limit"),
    ),
    "paused": ("pause_turn", "paused", "compaction"),
    "dropped": ("dropped", "network_error", "connection_error", "disconnected"),
    "error": (
        *("error", "failed", "cancelled", "canceled", "aborted", "abort", "user_cancel", "client_cancelled", "timeout"),
        *("time_limit", "insufficient_system_resource", "too_many_tool_calls", "missing_thought_signature"),
    ),
}
"""each reason with the providers' words for it, however they write them: `max_tokens`, `MaxTokens`, `MAX_TOKENS`"""
NOT_IN_LOG = "not_in_this_log"
STOPS = (*REASONS, "other", NOT_IN_LOG)
"""what lists are filtered by: "other" has a word that is not known"""
_LETTERS = re.compile(r"[^a-z]")
_BY_WORD = {_LETTERS.sub("", word): reason for reason, words in REASONS.items() for word in words}
_NOTHING = ("null", "none", "unspecified", "inprogress", "queued", "notfinished")
_NUMBERED = {1: "STOP", 2: "MAX_TOKENS", 3: "SAFETY", 4: "RECITATION"}
"""Google's, in what its library makes of an answer; of others the numbers differ by API"""
_KEYS = (
    *("finish_reason", "stop_reason", "finishReason", "stopReason", "done_reason", "completionReason"),
    *("native_finish_reason", "stop_type"),
)
_REASONS = (
    *("response", "message", "output", "choices", "candidates", "results", "response_metadata", "kwargs", "data"),
    *("details", "meta_info"),
)
GOOD = ("complete", "tool_call")
_MORE = ("filtered", "refused", "malformed", "context", "length")
"""what OpenRouter's own word hides at times, and the provider's says"""
_DEPTH = 5


def stop(word: Any) -> Stop | None:
    """The reason that a provider's word means; None for a word that says nothing."""
    if isinstance(word, dict):  # Vercel's newer SDK has both words, SGLang a type
        word = word.get("raw") or word.get("unified") or word.get("type")
    if isinstance(word, int) and not isinstance(word, bool):
        word = _NUMBERED.get(word, str(word) if word else None)
    if not isinstance(word, str) or not word.strip():
        return None
    # Python prints <FinishReason.STOP: 'STOP'>, Google's compatible API function_call_filter: MALFORMED_FUNCTION_CALL
    parts = word.rpartition(".")[2].lower().split(":", 1)
    plain = [_LETTERS.sub("", part).removeprefix("finishreason").removeprefix("reason") for part in parts]
    known = (_BY_WORD[part] for part in plain if part in _BY_WORD)
    return None if plain[0] in _NOTHING else Stop(next(known, "other"), word)


def stop_of(value: Any, depth: int = _DEPTH) -> Stop | None:
    """What a body, one of its choices, or an entry that holds one says; None where it does not say."""
    if isinstance(value, list):
        value = value[0] if value else None
    if not isinstance(value, dict) or depth == 0:
        return None
    for key in _KEYS:
        if key in value and (ending := stop(value[key])):
            native = stop(value.get("native_finish_reason"))
            if ending.reason in GOOD and native and native.reason in _MORE:
                return native
            refused = as_object(value.get("message")).get("refusal") or value.get("refusal")
            return Stop("refused", ending.said) if ending.reason == "complete" and text(refused) else ending
    if ending := stop(as_object(value.get("incomplete_details")).get("reason")):
        return ending
    if value.get("object") == "response" and (ending := stop(value.get("status"))):
        parts = [part for item in as_list(value.get("output")) for part in as_list(as_object(item).get("content"))]
        refused = any(as_object(part).get("type") == "refusal" for part in parts)
        return Stop("refused", ending.said) if refused and ending.reason == "complete" else ending
    return next((ending for key in _REASONS if key in value and (ending := stop_of(value[key], depth - 1))), None)


_PROVIDERS = (
    *("provider", "provider_name", "providerName", "llm_provider", "custom_llm_provider", "model_provider"),
    *("providerID", "providerId", "provider_id", "modelProvider"),
)
_BASES = ("base_url", "baseURL", "baseUrl", "api_base", "apiBase", "endpoint", "server_url", "openai_api_base")
_URLS = ("url", "uri", "target_url", "request_url")
_ADDRESSES = ("server.address", "server_address")
_VENDORS = ("ls_provider", "gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "ai.model.provider")
_PRINTS = ("system_fingerprint", "systemFingerprint", "gen_ai.openai.response.system_fingerprint")
_RANKS = {
    key: rank for rank, keys in enumerate((_PROVIDERS, _BASES, _URLS, _ADDRESSES, _VENDORS, _PRINTS)) for key in keys
}
"""what names a host, by how sure that is: the lowest wins"""
_OF_URL = (1, 2)
_INTO = {
    *("request", "response", "body", "message", "metadata", "response_metadata", "responseMetadata", "extra", "info"),
    *("kwargs", "params", "litellm_params", "hidden_params", "_hidden_params", "invocation_params", "attributes"),
    *("model_parameters", "modelParameters", "config", "client", "payload", "outputs", "raw_response"),
}
_RESULTS = ("message", "content", "result", "toolResult", "output", "run")
_ERRORS = ("error-text", "error-json", "tool-error")
"""results by their types, as the Vercel SDK has them"""
_MODEL_PATH = re.compile(r"/v\d|chat|completion|messages|responses|generat|converse|invoke|/models?/|/api/", re.I)
_MOST, _LONGEST = 100, 200
_WORD = re.compile(r"[\w][\w .:@/+-]*")


Host = tuple[int, str]
"""Who may have served a model, behind how sure that is: the lowest is the surest."""


def hosts_of(entry: Any) -> list[Host]:
    """The providers that an entry names, the addresses that were asked, and what is a sign of either."""
    return [host for object_ in under(entry, _INTO) for host in _named(object_)]


def asked_at(url: str) -> list[Host]:
    """The address of a request to a model."""
    host = address(url)
    return [] if host is None else [(_OF_URL[0], host)]


def _named(holder: dict[str, Any]) -> Iterator[Host]:
    for key in holder.keys() & _RANKS.keys():
        rank, value = _RANKS[key], holder[key]
        if not isinstance(value, str) or not value or len(value) > 2_000:
            continue
        host = address(value, is_sure=rank == 1) if rank in _OF_URL else _word(value)
        if host is not None:
            yield rank, host


def address(url: str, *, is_sure: bool = True) -> str | None:
    """The host of a URL, with its port where it is named; None of what is none, or asks no model as far as is known."""
    try:
        parts = urlsplit(url if "://" in url else "")
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not host or not (is_sure or _MODEL_PATH.search(parts.path)):
        return None
    return _word(host if port in (None, 80, 443) else f"{host}:{port}")


def _word(value: str) -> str | None:
    return value if len(value) <= _LONGEST and _WORD.fullmatch(value) else None


def says_error(entry: dict[str, Any]) -> bool | None:
    """Whether each result of an entry is marked as an error; None where no mark says anything."""
    marks = [mark for object_ in under(entry, _RESULTS) for mark in _marks(object_)]
    return all(marks) if marks else None


def _marks(result: dict[str, Any]) -> Iterator[bool]:
    for key in ("is_error", "isError"):
        if isinstance(result.get(key), bool):
            yield result[key]
    if result.get("type") == "tool_result" and not result.keys() & {"is_error", "run"}:
        yield False
    if result.get("status") == "error" or result.get("type") in _ERRORS:
        yield True


def under(entry: Any, keys: Collection[str]) -> list[dict[str, Any]]:
    """The entry and the objects that these keys lead to, in lists as well; some hundred of them."""
    objects: list[dict[str, Any]] = [entry] if isinstance(entry, dict) else []
    for object_ in objects:
        for key, value in object_.items():
            if key in keys and isinstance(value, dict | list):
                inner = value[:_MOST] if isinstance(value, list) else (value,)
                objects.extend(item for item in inner if isinstance(item, dict))
        if len(objects) >= _MOST:
            break
    return objects
