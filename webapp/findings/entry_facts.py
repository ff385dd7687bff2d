"""What an entry says beside its text: why the model stopped, and how many rounds it may take."""

from __future__ import annotations

from typing import Any

CUT = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "token_limit", "max_length"})
_REASONS = ("finish_reason", "stop_reason", "finishReason", "stopReason", "done_reason")
_INTO = ("response", "message", "output", "choices", "candidates", "response_metadata")
_KNOWN = frozenset((*_REASONS, *_INTO, "incomplete_details"))
_DEPTH = 5


def finish_reason(source: Any, depth: int = _DEPTH) -> str | None:
    """Why the model stopped, as its provider says it, in lower case; None where the entry does not say."""
    if isinstance(source, list):
        source = source[0] if source else None
    if not isinstance(source, dict) or depth == 0 or _KNOWN.isdisjoint(source):
        return None
    for name in _REASONS:
        value = source.get(name)
        if isinstance(value, str):
            return value.lower()
    incomplete = source.get("incomplete_details")
    if isinstance(incomplete, dict) and isinstance(incomplete.get("reason"), str):
        return str(incomplete["reason"]).lower()
    for name in _INTO:
        value = source.get(name)
        if isinstance(value, (dict, list)) and (reason := finish_reason(value, depth - 1)) is not None:
            return reason
    return None


def most_rounds(source: Any) -> int | None:
    """The limit of rounds that an entry sets for what follows it (Windlass: the phase's `max_turns`)."""
    metadata = source.get("metadata") if isinstance(source, dict) else None
    value = metadata.get("max_turns") if isinstance(metadata, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
