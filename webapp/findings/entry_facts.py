"""What an entry says beside its text: how many rounds it may take, what was thought, whether a result is an error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def most_rounds(source: Any) -> int | None:
    """The limit of rounds that an entry sets for what follows it (Windlass: the phase's `max_turns`)."""
    metadata = source.get("metadata") if isinstance(source, dict) else None
    value = metadata.get("max_turns") if isinstance(metadata, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


_USAGES = ("usage", "token_usage", "response", "message", "body", "metadata", "payload", "info")
"""the keys that lead to what was spent"""
_DETAILS = ("completion_tokens_details", "output_tokens_details", "outputTokenDetails")
_REASONING = ("reasoning_tokens", "reasoningTokens", "thinking_tokens")
_RESULTS = ("message", "content", "result", "toolResult")
_MOST = 100
"""objects of an entry that are looked at"""


def reasoning_tokens(source: dict[str, Any]) -> int | None:
    """The tokens of an answer that were thought, where the entry counts them within those of the answer."""
    for each in _under(source, (*_USAGES, *_DETAILS)):
        for key in _REASONING:
            if isinstance(count := each.get(key), int) and not isinstance(count, bool):
                return count
    return None


def says_error(source: dict[str, Any]) -> bool | None:
    """Whether each result of an entry is marked as an error; None where no mark says anything."""
    marks = [mark for each in _under(source, _RESULTS) for mark in _marks(each)]
    return all(marks) if marks else None


def _marks(result: dict[str, Any]) -> Iterator[bool]:
    for key in ("is_error", "isError"):
        if isinstance(result.get(key), bool):
            yield result[key]
    if result.get("type") == "tool_result" and "is_error" not in result:
        yield False
    if result.get("status") == "error":
        yield True


def _under(source: dict[str, Any], keys: tuple[str, ...]) -> list[dict[str, Any]]:
    """The entry and the objects that these keys lead to, in lists as well."""
    found: list[dict[str, Any]] = [source]
    for each in found:
        for key in keys:
            value = each.get(key)
            inner = value if isinstance(value, list) else [value]
            found.extend(item for item in inner[:_MOST] if isinstance(item, dict))
        if len(found) >= _MOST:
            break
    return found
