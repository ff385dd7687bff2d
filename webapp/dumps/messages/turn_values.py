"""Turns with values that an entry says of all of them, or of one: times, names, what was spent."""

from __future__ import annotations

from typing import Any

from webapp.dumps.records import Turn, changed
from webapp.dumps.values import number, whole

_IN = (
    *("input_tokens", "prompt_tokens", "inputTokens", "promptTokens", "promptTokenCount", "prompt_token_count"),
    *("request_tokens", "input"),
)
_OUT = (
    *("output_tokens", "completion_tokens", "outputTokens", "completionTokens"),
    *("candidatesTokenCount", "candidates_token_count", "response_tokens", "output"),
)

_THOUGHTS = ("thoughtsTokenCount", "thoughts_token_count", "thoughts")
_REASONING = (
    *("reasoning_tokens", "reasoningTokens", "thinking_tokens", "reasoning_output_tokens", "reasoning"),
    "completion_reasoning_tokens",
)
_DETAILS = (
    *("completion_tokens_details", "output_tokens_details", "outputTokenDetails", "output_token_details"),
    *("completionTokensDetails", "outputTokensDetails", "details"),
)


def spent(usage: Any, cost: Any = None) -> dict[str, Any]:
    """`tokens_in`, `tokens_out`, `tokens_reasoning` and `cost` of a provider's usage object, those that it names."""
    usage = usage if isinstance(usage, dict) else {}
    amounts = {
        "tokens_in": next((whole(usage[key]) for key in _IN if usage.get(key) is not None), None),
        "tokens_out": _tokens_out(usage),
        "tokens_reasoning": _reasoning(usage),
        "cost": number(cost),
    }
    return {key: amount for key, amount in amounts.items() if amount is not None}


def _tokens_out(usage: dict[str, Any]) -> int | None:
    """All tokens of the answer; Google counts those that were thought beside it."""
    out = next((whole(usage[key]) for key in _OUT if usage.get(key) is not None), None)
    beside = next((whole(usage[key]) for key in _THOUGHTS if usage.get(key) is not None), None)
    return out if beside is None else (out or 0) + beside


def _reasoning(usage: dict[str, Any]) -> int | None:
    holders = [usage, *(usage[key] for key in _DETAILS if isinstance(usage.get(key), dict))]
    counts = [whole(holder[key]) for holder in holders for key in (*_REASONING, *_THOUGHTS) if key in holder]
    return next((count for count in counts if count is not None), None)


def with_once(turns: list[Turn], once: dict[str, Any] | None) -> list[Turn]:
    """`turns` with what was spent on the first that the model wrote, else on the first."""
    if not once or not turns:
        return turns
    wrote = next((index for index, turn in enumerate(turns) if turn.kind in ("response", "tool_call")), 0)
    turns[wrote] = changed(turns[wrote], **once)
    return turns


def with_usage(turns: list[Turn], usage: Any, cost: Any = None) -> list[Turn]:
    """As `with_once`, of a provider's usage object and the cost in dollars."""
    return with_once(turns, spent(usage, cost))


def each_with(turns: list[Turn], **values: Any) -> list[Turn]:
    """`turns` with these values where they are not None."""
    values = {key: value for key, value in values.items() if value is not None}
    return [changed(turn, **values) for turn in turns] if values else turns


def each_filled(turns: list[Turn], **values: Any) -> list[Turn]:
    """`turns` with these values where they have none of their own."""
    return [filled(turn, **values) for turn in turns]


def filled(turn: Turn, **values: Any) -> Turn:
    """`turn` with these values where it has none of its own."""
    missing = {key: value for key, value in values.items() if value is not None and getattr(turn, key) is None}
    return changed(turn, **missing) if missing else turn
