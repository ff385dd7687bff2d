"""Puts a streamed answer together: the events of a response body become the body as it would have come in one piece."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from webapp.dumps.decoding import Damage, Decoder, json_or_none
from webapp.dumps.formats._events import cohere, is_cohere, is_responses, responses

_OBJECT = re.compile(r'\{\s*"')
_MOST = 16 * 1024 * 1024
_DELTAS = {"text_delta": ("text", "text"), "thinking_delta": ("thinking", "thinking")}


def assembled(body: str) -> Any:
    """The body that a stream's events say, in its provider's own shape; None where they say none.

    Server-sent events, lines of JSON, Amazon's event stream read as text, or the whole body as JSON text.
    """
    if len(body) > _MOST:
        return None
    whole = json_or_none(body)
    if isinstance(whole, dict):
        return whole
    events = whole if isinstance(whole, list) else list(_events(body))
    found = [event for event in events if isinstance(event, dict)]
    makers = ((_is_anthropic, _anthropic), (_is_bedrock, _bedrock), (_is_google, _google), (_is_chat, _chat))
    for fits, make in (*makers, (is_responses, responses), (is_cohere, cohere)):
        if any(map(fits, found)):
            return make(found)
    return None


def _events(body: str) -> Iterator[Any]:
    """The JSON objects in a text, whatever stands between them."""
    decoder, at = Decoder(), 0
    while match := _OBJECT.search(body, at):
        try:
            value, at = decoder.value(body, match.start())
        except Damage:
            at = match.start() + 1
        else:
            yield value


def _is_anthropic(event: dict[str, Any]) -> bool:
    return event.get("type") in ("message_start", "content_block_start", "content_block_delta")


def _is_bedrock(event: dict[str, Any]) -> bool:
    return "contentBlockIndex" in event


def _is_google(event: dict[str, Any]) -> bool:
    return isinstance(event.get("candidates"), list)


def _is_chat(event: dict[str, Any]) -> bool:
    return isinstance(event.get("choices"), list)


def _anthropic(events: list[dict[str, Any]]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant"}
    blocks: dict[Any, dict[str, Any]] = {}
    for event in events:
        if isinstance(event.get("message"), dict):
            message.update(event["message"])
        if isinstance(event.get("content_block"), dict):
            blocks[event.get("index")] = dict(event["content_block"])
        delta = event.get("delta")
        if isinstance(delta, dict) and event.get("type") == "content_block_delta":
            _grow(blocks.setdefault(event.get("index"), {"type": "text"}), delta)
        if isinstance(event.get("usage"), dict):
            message["usage"] = {**(message.get("usage") or {}), **event["usage"]}
    return {**message, "content": list(blocks.values())}


def _grow(block: dict[str, Any], delta: dict[str, Any]) -> None:
    """Add a delta to its block; the arguments of a call stay the text that the model wrote."""
    kind = delta.get("type")
    if kind == "input_json_delta":
        before = block.get("input")
        block["input"] = (before if isinstance(before, str) else "") + _said(delta.get("partial_json"))
    elif kind in _DELTAS:
        key, part = _DELTAS[kind]
        block[key] = _said(block.get(key)) + _said(delta.get(part))


def _bedrock(events: list[dict[str, Any]]) -> dict[str, Any]:
    blocks: dict[Any, dict[str, Any]] = {}
    usage: Any = None
    for event in events:
        usage = event.get("usage", usage)
        if "contentBlockIndex" not in event:
            continue
        block = blocks.setdefault(event["contentBlockIndex"], {})
        start, delta = event.get("start"), event.get("delta")
        if isinstance(start, dict):
            block.update({key: dict(value) for key, value in start.items() if isinstance(value, dict)})
        if isinstance(delta, dict):
            _grow_bedrock(block, delta)
    return {"output": {"message": {"role": "assistant", "content": list(blocks.values())}}, "usage": usage}


def _grow_bedrock(block: dict[str, Any], delta: dict[str, Any]) -> None:
    if isinstance(delta.get("text"), str):
        block["text"] = _said(block.get("text")) + delta["text"]
    use, thought, result = delta.get("toolUse"), delta.get("reasoningContent"), delta.get("toolResult")
    if isinstance(use, dict):
        inner = block.setdefault("toolUse", {})
        inner["input"] = _said(inner.get("input")) + _said(use.get("input"))
    if isinstance(thought, dict) and isinstance(thought.get("text"), str):
        inner = block.setdefault("reasoningContent", {"reasoningText": {"text": ""}})
        inner["reasoningText"]["text"] += thought["text"]
    if isinstance(result, list):
        block.setdefault("toolResult", {}).setdefault("content", []).extend(result)


def _google(events: list[dict[str, Any]]) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    last: dict[str, Any] = {}
    for event in events:
        last = {**last, **event}
        candidates = event.get("candidates")
        first = candidates[0] if isinstance(candidates, list) and candidates else None
        said = first.get("content") if isinstance(first, dict) else None
        found = said.get("parts") if isinstance(said, dict) else None
        for part in found if isinstance(found, list) else []:
            _grow_google(parts, part)
    return {**last, "candidates": [{"content": {"role": "model", "parts": parts}}]}


def _grow_google(parts: list[dict[str, Any]], part: Any) -> None:
    if not isinstance(part, dict):
        return
    same = parts and isinstance(part.get("text"), str) and isinstance(parts[-1].get("text"), str)
    if same and parts[-1].get("thought") == part.get("thought"):
        parts[-1]["text"] += part["text"]
    else:
        parts.append(dict(part))


def _chat(events: list[dict[str, Any]]) -> dict[str, Any]:
    messages: dict[Any, dict[str, Any]] = {}
    last: dict[str, Any] = {}
    for event in events:
        last = {**last, **{key: value for key, value in event.items() if value is not None}}
        choices = event.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            delta = choice.get("delta") if isinstance(choice, dict) else None
            if isinstance(delta, dict):
                _grow_chat(messages.setdefault(choice.get("index"), {"role": "assistant"}), delta)
    for message in messages.values():
        message["tool_calls"] = list(message.get("tool_calls", {}).values())
    return {**last, "choices": [{"message": message} for message in messages.values()]}


def _grow_chat(message: dict[str, Any], delta: dict[str, Any]) -> None:
    for key in ("content", "reasoning_content", "reasoning", "refusal"):
        if isinstance(delta.get(key), str):
            message[key] = _said(message.get(key)) + delta[key]
    calls = delta.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, dict):
            known = message.setdefault("tool_calls", {}).setdefault(str(call.get("index")), {"function": {}})
            known["id"] = call.get("id") or known.get("id")
            function = call.get("function")
            function = function if isinstance(function, dict) else {}
            known["function"]["name"] = function.get("name") or known["function"].get("name")
            said = known["function"].get("arguments")
            known["function"]["arguments"] = _said(said) + _said(function.get("arguments"))


def _said(value: Any) -> str:
    return value if isinstance(value, str) else ""
