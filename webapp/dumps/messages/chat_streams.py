"""Puts chunks of chat completions together: a message for each choice, its calls, and Mistral's parts."""

from __future__ import annotations

from typing import Any

from webapp.dumps.messages.item_streams import grow, grow_call, is_end, number, or_empty, streamed
from webapp.dumps.values import as_list, as_object


def chat(events: list[dict[str, Any]]) -> dict[str, Any]:
    messages: dict[Any, dict[str, Any]] = {}
    texts: dict[Any, str] = {}
    whys: dict[Any, Any] = {}
    last: dict[str, Any] = {}
    for event in events:
        last = {**last, **{key: value for key, value in event.items() if value is not None}}
        for choice in as_list(event.get("choices")):
            delta = choice.get("delta") if isinstance(choice, dict) else None
            if isinstance(choice, dict) and choice.get("finish_reason"):
                whys[number(choice)] = choice["finish_reason"]
            if isinstance(choice, dict) and isinstance(choice.get("text"), str):  # of /completions
                texts[number(choice)] = texts.get(number(choice), "") + choice["text"]
            if isinstance(delta, dict):
                _grow_chat(messages.setdefault(number(choice), {"role": "assistant"}), delta)
    for message in messages.values():
        message["tool_calls"] = streamed(message.get("tool_calls", {}))
        if blocks := message.pop("blocks", None):
            message["content"] = blocks
    last["object"] = str(last.get("object", "")).removesuffix(".chunk")
    choices = [{"message": message, "finish_reason": whys.get(index)} for index, message in messages.items()]
    bare = [{"text": written, "finish_reason": whys.get(index)} for index, written in texts.items()]
    return {**last, "choices": [*choices, *bare]}


def _grow_chat(message: dict[str, Any], delta: dict[str, Any]) -> None:
    grow(message, delta, "content", "reasoning_content", "reasoning", "refusal")
    if isinstance(delta.get("content"), list) or isinstance(message.get("blocks"), list):
        _grow_blocks(message, delta.get("content"))
    if isinstance(delta.get("function_call"), dict):  # the older way
        called = message.setdefault("function_call", {"name": None, "arguments": ""})
        called["name"] = called["name"] or delta["function_call"].get("name")
        called["arguments"] += or_empty(delta["function_call"].get("arguments"))
    for delta_call in as_list(delta.get("tool_calls")):
        if isinstance(delta_call, dict):
            grow_call(_call_of(message.setdefault("tool_calls", {}), delta_call), delta_call)


def _call_of(calls: dict[str, dict[str, Any]], delta: dict[str, Any]) -> dict[str, Any]:
    """The call that a delta goes on with; one with a name and another id is a new one, though its index is the same."""
    index = str(delta.get("index"))
    same = [key for key in calls if key.partition(" ")[0] == index]
    last = calls[same[-1]] if same else None
    name, ident = as_object(delta.get("function")).get("name"), delta.get("id")
    if last is None or (name and ident and last.get("id") and ident != last["id"]):
        return calls.setdefault(f"{index} {len(same)}", {"function": {}})
    return last


def _grow_blocks(message: dict[str, Any], written: Any) -> None:
    """Mistral's content is a list of parts, of which several of one kind are one; texts come among them."""
    blocks = message.setdefault("blocks", [])
    parts = [{"type": "text", "text": written}] if isinstance(written, str) and written else as_list(written)
    for part in map(as_object, parts):
        key = "thinking" if part.get("type") == "thinking" else "text"
        last = blocks[-1] if blocks and blocks[-1].get("type") == part.get("type") else None
        if last is None or type(last.get(key)) is not type(part.get(key)) or not isinstance(part.get(key), str | list):
            blocks.append(dict(part))
        else:
            last[key] = last[key] + part[key]


def begins(event: dict[str, Any], before: list[dict[str, Any]]) -> bool:
    """Of chunks without ids: whether somebody begins to speak where an answer has ended."""
    deltas = (as_object(as_object(choice).get("delta")) for choice in as_list(event.get("choices")))
    numbers = {number(as_object(choice)) for choice in as_list(event.get("choices"))}
    ended = {number(as_object(c)) for e in before if is_end(e) for c in as_list(e.get("choices"))}
    return bool(numbers & ended) and any(delta.get("role") for delta in deltas)
