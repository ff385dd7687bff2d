"""Puts chunks of chat completions together, a message for each choice, and the deltas of ChatGPT's own site."""

from __future__ import annotations

from typing import Any

from webapp.dumps.decoding import json_or_none
from webapp.dumps.messages.item_streams import (
    Pieces,
    add,
    grow,
    grow_call,
    is_end,
    joined,
    number,
    or_empty,
    settled,
    streamed,
)
from webapp.dumps.values import as_list, as_object, first_text, id_text


def chat(events: list[dict[str, Any]]) -> dict[str, Any]:
    messages: dict[Any, dict[str, Any]] = {}
    texts: dict[Any, Any] = {}
    whys: dict[Any, Any] = {}
    last: dict[str, Any] = {}
    for event in events:
        last.update((key, value) for key, value in event.items() if value is not None)
        for choice in as_list(event.get("choices")):
            delta = choice.get("delta") if isinstance(choice, dict) else None
            if isinstance(choice, dict) and choice.get("finish_reason"):
                whys[number(choice)] = choice["finish_reason"]
            if isinstance(choice, dict) and isinstance(choice.get("text"), str):  # of /completions
                add(texts, number(choice), choice["text"])
            if isinstance(delta, dict):
                _grow_chat(messages.setdefault(number(choice), {"role": "assistant"}), delta)
    for index, message in messages.items():
        message["tool_calls"] = streamed(message.get("tool_calls", {}))
        message.pop("newest", None)
        beside = texts.pop(index, "")  # Together's chunks have the text of their delta beside it as well
        if "pieces" in message:
            message["content"] = joined(message.pop("pieces")) or beside
        elif beside and not message["tool_calls"]:
            message["content"] = beside
        if blocks := message.pop("blocks", None):
            message["content"] = blocks
    last["object"] = str(last.get("object", "")).removesuffix(".chunk")
    choices = [{"message": message, "finish_reason": whys.get(index)} for index, message in messages.items()]
    bare = [{"text": written, "finish_reason": whys.get(index)} for index, written in texts.items()]
    return {**last, "choices": [*choices, *bare]}


def _grow_chat(message: dict[str, Any], delta: dict[str, Any]) -> None:
    grow(message, delta, "reasoning_content", "reasoning", "refusal")
    if isinstance(delta.get("content"), str):
        message.setdefault("pieces", []).append(delta["content"])
    if isinstance(delta.get("content"), list) or isinstance(message.get("blocks"), list):
        _grow_blocks(message, delta.get("content"))
    if isinstance(delta.get("function_call"), dict):  # the older way
        called = message.setdefault("function_call", {"name": None})
        called["name"] = called["name"] or delta["function_call"].get("name")
        add(called, "arguments", delta["function_call"].get("arguments"))
    for delta_call in as_list(delta.get("tool_calls")):
        if isinstance(delta_call, dict):
            grow_call(_call_of(message, delta_call), delta_call)


def _call_of(message: dict[str, Any], delta: dict[str, Any]) -> dict[str, Any]:
    """The call that a delta goes on with: the newest of its index, where it does not begin another one."""
    calls, newest = message.setdefault("tool_calls", {}), message.setdefault("newest", {})
    index = str(delta.get("index"))
    if index not in newest or _begins_call(newest[index], delta):
        newest[index] = calls[len(calls)] = {"function": {}}
    return newest[index]  # type: ignore[no-any-return]


def _begins_call(last: dict[str, Any], delta: dict[str, Any]) -> bool:
    """Whether a name comes with another id; without ids, with other or further arguments than a whole call's."""
    function, ident = as_object(delta.get("function")), delta.get("id")
    name, written = function.get("name"), or_empty(function.get("arguments"))
    if not name or (ident and last.get("id")):
        return bool(name) and ident != last["id"]
    pieces = last.get("pieces", [])
    if name != last["function"].get("name"):
        return bool(pieces) or not last.get("id")
    is_whole = len(pieces) == 1 and written.startswith("{") and not written.startswith(pieces[0])
    return is_whole and json_or_none(pieces[0]) is not None


def _grow_blocks(message: dict[str, Any], written: Any) -> None:
    """Mistral's content is a list of parts, of which several of one kind are one; texts come among them."""
    blocks = message.setdefault("blocks", [])
    parts = [{"type": "text", "text": written}] if isinstance(written, str) and written else as_list(written)
    for part in map(as_object, parts):
        key = "thinking" if part.get("type") == "thinking" else "text"
        last = blocks[-1] if blocks and blocks[-1].get("type") == part.get("type") else None
        piece, before = part.get(key), None if last is None else last.get(key)
        if isinstance(piece, str) and isinstance(before, str | Pieces):
            add(last, key, piece)
        elif isinstance(piece, list) and isinstance(before, list) and not isinstance(before, Pieces):
            before.extend(piece)
        else:
            blocks.append({**part, **({key: list(piece)} if isinstance(piece, list) else {})})


def begins(event: dict[str, Any], before: list[dict[str, Any]], ended_before: set[Any]) -> bool:
    """Of chunks without ids: whether somebody begins to speak where an answer has ended."""
    choices = [as_object(choice) for choice in as_list(event.get("choices"))]
    speaks = any(as_object(choice.get("delta")).get("role") for choice in choices)
    return speaks and not ended_before.isdisjoint(map(number, choices))


def ended(event: dict[str, Any]) -> set[Any]:
    """The choices that end with an event."""
    return {number(as_object(choice)) for choice in as_list(event.get("choices"))} if is_end(event) else set()


_PARTS, _TEXT = "/message/content/parts/", "/message/content/text"


def is_chatgpt(event: dict[str, Any]) -> bool:
    return "author" in as_object(as_object(event.get("v")).get("message") or event.get("message"))


def chatgpt(events: list[dict[str, Any]]) -> dict[str, Any]:
    """What the assistant said in all messages of the stream, in the order in which they began."""
    messages: dict[str, dict[str, Any]] = {}
    message: dict[str, Any] = {}
    place = ""
    for event in events:
        whole = as_object(event.get("v")).get("message") or event.get("message")
        if isinstance(whole, dict):
            content = as_object(whole.get("content"))
            message = {**whole, "content": {**content, "parts": list(as_list(content.get("parts")))}}
            messages[id_text(whole.get("id")) or ""] = message
            place = ""
            continue
        for delta in as_list(event["v"]) if event.get("o") == "patch" else [event]:
            place = first_text(delta, "p") or place
            _grow(as_object(message.get("content")), place, as_object(delta))
    slugs = (first_text(message.get("metadata"), "model_slug") for message in messages.values())
    model = next(filter(None, slugs), None)
    return {"model": model, "choices": [{"message": body} for message in messages.values() if (body := _said(message))]}


def _grow(content: dict[str, Any], place: str, delta: dict[str, Any]) -> None:
    """Add a delta's text, which belongs where the last one did if it does not say where."""
    written = delta.get("v")
    if not isinstance(written, str):
        return
    replaces = delta.get("o") == "replace"
    if place == _TEXT:
        if replaces:
            content["text"] = ""
        add(content, "text", written)
    number = place.removeprefix(_PARTS)
    if place.startswith(_PARTS) and number.isdigit() and int(number) <= len(content.get("parts", [])):
        parts = content["parts"]
        parts.extend([""] * (int(number) + 1 - len(parts)))
        if replaces:
            parts[int(number)] = ""
        add(parts, int(number), written)


def _said(message: dict[str, Any]) -> dict[str, Any] | None:
    """A message of the assistant as OpenAI's API has it; what goes to a tool is its call."""
    content = settled(as_object(message.get("content")))
    if as_object(message.get("author")).get("role") != "assistant":
        return None
    written = "".join(part for part in as_list(content.get("parts")) if isinstance(part, str)) or content.get("text")
    recipient = first_text(message, "recipient") or "all"
    if not isinstance(written, str) or not written:
        return None
    if recipient == "all":
        return {"role": "assistant", "content": written}
    return {"role": "assistant", "tool_calls": [{"function": {"name": recipient, "arguments": written}}]}
