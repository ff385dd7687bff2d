"""Puts streams of blocks and parts together: Anthropic's, Amazon's, Google's and Ollama's, each as its own body."""

from __future__ import annotations

from typing import Any

from webapp.dumps.messages.item_streams import Pieces, add, grow, is_end, joined, number, or_empty
from webapp.dumps.values import as_list, as_object

BEDROCK = (
    *("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata"),
    *("internalServerException", "modelStreamErrorException", "throttlingException", "validationException"),
)
_DELTAS = {"text_delta": ("text", "text"), "thinking_delta": ("thinking", "thinking")}


def is_ollama(event: dict[str, Any]) -> bool:
    return isinstance(event.get("done"), bool) and ("response" in event or "message" in event)


def ollama(events: list[dict[str, Any]]) -> dict[str, Any]:
    """`/api/chat` and `/api/generate`; the last event says what was spent."""
    message: dict[str, Any] = {"role": "assistant", "tool_calls": []}
    for event in events:
        delta = as_object(event.get("message"))
        for key, beside in (("content", "response"), ("thinking", "thinking")):
            add(message, key, or_empty(delta.get(key)) + or_empty(event.get(beside)))
        message["tool_calls"] += as_list(delta.get("tool_calls"))
    return {**events[0], **events[-1], "message": message, "response": None}


def anthropic(events: list[dict[str, Any]]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant"}
    blocks: dict[Any, dict[str, Any]] = {}
    inputs: dict[Any, list[str]] = {}
    usage: dict[str, Any] = {}
    for event in events:
        if isinstance(event.get("message"), dict):
            message.update(event["message"])
            usage = dict(as_object(message.get("usage")))
        if isinstance(event.get("content_block"), dict):
            blocks[number(event)] = dict(event["content_block"])
        delta = event.get("delta")
        message["stop_reason"] = as_object(delta).get("stop_reason") or message.get("stop_reason")
        if isinstance(delta, dict) and event.get("type") == "content_block_delta":
            block = blocks.setdefault(number(event), {"type": "text"})
            _grow(block, inputs.setdefault(number(event), []), delta)
        if isinstance(event.get("usage"), dict):
            usage.update(event["usage"])
    for index, block in blocks.items():
        if block.get("input") == "":
            block["input"] = joined(inputs.get(index, []))
            block |= {} if block["input"] else {"without_arguments": True}
    return {**message, **({"usage": usage} if usage else {}), "content": list(blocks.values())}


def _grow(block: dict[str, Any], pieces: list[str], delta: dict[str, Any]) -> None:
    """Add a delta to its block, or to the pieces of its arguments, which stay the text that the model wrote."""
    kind = str(delta.get("type"))
    if kind == "input_json_delta":
        block["input"] = ""
        pieces.append(or_empty(delta.get("partial_json")))
    elif kind in _DELTAS:
        key, part = _DELTAS[kind]
        add(block, key, delta.get(part))


def is_bedrock(event: dict[str, Any]) -> bool:
    return "contentBlockIndex" in event or event.get("event") in BEDROCK


def bedrock(events: list[dict[str, Any]]) -> dict[str, Any]:
    blocks: dict[Any, dict[str, Any]] = {}
    inputs: dict[Any, list[str]] = {}
    usage, why, begun = None, None, 0
    for event in events:
        usage, why = event.get("usage", usage), event.get("stopReason", why)
        begun += event.get("event") == "contentBlockStart"  # Strands' events are without indexes
        if not event.keys() & {"contentBlockIndex", "start", "delta"}:
            continue
        place = number(event, "contentBlockIndex") if "contentBlockIndex" in event else begun
        block = blocks.setdefault(place, {})
        start, delta = event.get("start"), event.get("delta")
        if isinstance(start, dict):
            block.update({key: dict(value) for key, value in start.items() if isinstance(value, dict)})
        if isinstance(delta, dict):
            _grow_bedrock(block, delta)
            if isinstance(use := delta.get("toolUse"), dict):
                inputs.setdefault(place, []).append(or_empty(use.get("input")))
    for index, pieces in inputs.items():
        blocks[index].setdefault("toolUse", {})["input"] = joined(pieces)
    message = {"role": "assistant", "content": list(blocks.values())}
    return {"output": {"message": message}, "usage": usage, "stopReason": why}


def _grow_bedrock(block: dict[str, Any], delta: dict[str, Any]) -> None:
    grow(block, delta, "text")
    thought, result = delta.get("reasoningContent"), delta.get("toolResult")
    if isinstance(thought, dict) and isinstance(thought.get("text"), str):
        inner = block.setdefault("reasoningContent", {})
        add(inner.setdefault("reasoningText", {}), "text", thought["text"])
    if isinstance(result, list):
        block.setdefault("toolResult", {}).setdefault("content", []).extend(result)


def google(events: list[dict[str, Any]]) -> dict[str, Any]:
    parts_by_index: dict[Any, list[Any]] = {}
    whys: dict[Any, Any] = {}
    last: dict[str, Any] = {}
    for event in events:
        last.update(event)
        for candidate in map(as_object, as_list(event.get("candidates"))):
            parts = parts_by_index.setdefault(number(candidate) or 0, [])
            content = candidate.get("content")
            whys[number(candidate) or 0] = candidate.get("finishReason") or whys.get(number(candidate) or 0)
            if content is None:  # what stands in its place is a part that is not known
                parts.extend({key: value} for key, value in candidate.items() if isinstance(value, dict) and value)
            listed = content.get("parts") if isinstance(content, dict) else content
            for part in listed if isinstance(listed, list) else [listed] if listed else []:
                _grow_google(parts, {"text": part} if isinstance(part, str) else part)
    candidates = [
        {"content": {"role": "model", "parts": parts}, **({"finishReason": whys[index]} if whys.get(index) else {})}
        for index, parts in parts_by_index.items()
    ]
    return {**last, "candidates": candidates}


def _grow_google(parts: list[Any], part: Any) -> None:
    if not isinstance(part, dict) or not parts or not isinstance(parts[-1], dict):
        parts.append(dict(part) if isinstance(part, dict) else part)
        return
    same = isinstance(part.get("text"), str) and isinstance(parts[-1].get("text"), str | Pieces)
    if same and parts[-1].get("thought") == part.get("thought"):
        add(parts[-1], "text", part["text"])
    else:
        parts.append(dict(part))


def google_begins(event: dict[str, Any], before: list[dict[str, Any]], ended: set[Any]) -> bool:
    """Of chunks without ids: whether the answer before it ended; older servers said so in every chunk."""
    return len(before) > 1 and not is_end(before[0]) and is_end(before[-1])
