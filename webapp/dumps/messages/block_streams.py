"""Streams of blocks and parts: Anthropic's, Amazon's, Google's, Ollama's, Vercel's, AG-UI's, and ChatGPT's site."""

from __future__ import annotations

import re
from typing import Any

from webapp.dumps.messages.chat_streams import (
    Pieces,
    add,
    grow,
    is_end,
    number,
    or_empty,
    says_nothing,
    settled,
)
from webapp.dumps.values import as_list, as_object, first_id, first_text, id_text

BEDROCK = (
    *("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata"),
    *("internalServerException", "modelStreamErrorException", "throttlingException", "validationException"),
)
_DELTAS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "input_json_delta": ("input", "partial_json"),
}


def is_ollama(event: dict[str, Any]) -> bool:
    is_chunk = event.keys() & {"model", "created_at"} or event.keys() <= {"message", "response", "done", "done_reason"}
    return bool(is_chunk) and isinstance(event.get("done"), bool) and ("response" in event or "message" in event)


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
    usage: dict[str, Any] = {}
    for event in events:
        if isinstance(event.get("message"), dict):
            message.update(event["message"])
            usage = dict(as_object(message.get("usage")))
        if isinstance(event.get("content_block"), dict):
            blocks[number(event)] = dict(event["content_block"])
        delta = as_object(event.get("delta"))
        message["stop_reason"] = delta.get("stop_reason") or message.get("stop_reason")
        if delta and event.get("type") == "content_block_delta":
            block = blocks.setdefault(number(event), {"type": "text"})
            if (kind := str(delta.get("type"))) in _DELTAS:
                key, part = _DELTAS[kind]
                add(block, key, delta.get(part))
        if isinstance(event.get("usage"), dict):
            usage.update(event["usage"])
    for block in blocks.values():
        block |= {"without_arguments": True} if says_nothing(block.get("input")) else {}
    return {**message, **({"usage": usage} if usage else {}), "content": list(blocks.values())}


def is_bedrock(event: dict[str, Any]) -> bool:
    return "contentBlockIndex" in event or (event.get("event") in BEDROCK and "data" not in event)


def bedrock(events: list[dict[str, Any]]) -> dict[str, Any]:
    blocks: dict[Any, dict[str, Any]] = {}
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
    message = {"role": "assistant", "content": list(blocks.values())}
    return {"output": {"message": message}, "usage": usage, "stopReason": why}


def _grow_bedrock(block: dict[str, Any], delta: dict[str, Any]) -> None:
    grow(block, delta, "text")
    thought, result = delta.get("reasoningContent"), delta.get("toolResult")
    if isinstance(thought, dict) and isinstance(thought.get("text"), str):
        inner = block.setdefault("reasoningContent", {})
        add(inner.setdefault("reasoningText", {}), "text", thought["text"])
    if isinstance(use := delta.get("toolUse"), dict):
        add(block.setdefault("toolUse", {}), "input", use.get("input"))
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


_GROWING = {"text-delta": "text", "reasoning-delta": "reasoning"}
_CALLS = ("tool-input-start", "tool-input-delta", "tool-input-available", "tool-input-error", "tool-call")
_RESULTS = ("tool-result", "tool-output-available")
_BEGINS = ("text-start", "reasoning-start")
_PARTS = {
    *(*_GROWING, *_CALLS, *_RESULTS, *_BEGINS, "text-end", "reasoning-end", "tool-input-end", "tool-error", "object"),
    *("start", "finish", "start-step", "finish-step", "step-start", "step-finish", "abort", "error", "raw", "source"),
    *("file", "message-metadata", "message-start", "response-metadata", "stream-start", "tool-output-error"),
}


_AGUI = re.compile(
    r"(?:TEXT_MESSAGE|TOOL_CALL|THINKING|THINKING_TEXT_MESSAGE|REASONING|REASONING_MESSAGE)_[A-Z]+|RUN_(?:STARTED|FINISHED|ERROR)"
    r"|STEP_(?:STARTED|FINISHED)|STATE_(?:SNAPSHOT|DELTA)|MESSAGES_SNAPSHOT"
)
_CAMEL = {"tool_call_id": "toolCallId", "tool_call_name": "toolCallName", "message_id": "messageId"}
"""as Python's SDK dumps them"""


def is_agui(event: dict[str, Any]) -> bool:
    """Whether this is an event of the AG-UI protocol."""
    kind = event.get("type")
    return isinstance(kind, str) and _AGUI.fullmatch(kind) is not None


def agui(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages that the events come to, one for each text, with calls and results in the order they began."""
    parts: dict[Any, dict[str, Any]] = {}
    for event in ({_CAMEL.get(key, key): value for key, value in one.items()} for one in events):
        kind, call = str(event["type"]), first_id(event, "toolCallId")
        if kind == "TOOL_CALL_RESULT":
            parts["result", call] = {"type": "tool_result", "tool_use_id": call, "content": event.get("content")}
        elif kind.startswith("TOOL_CALL_"):
            part = parts.setdefault(("call", call), {"type": "tool_call", "id": call})
            part["name"] = event.get("toolCallName") or part.get("name")
            add(part, "arguments", event.get("delta"))
        elif isinstance(event.get("delta"), str) and not kind.startswith("STATE"):
            thinks = kind.startswith(("THINKING", "REASONING"))
            name = "thinking" if thinks else "text"
            add(parts.setdefault((name, first_id(event, "messageId")), {"type": name}), name, event["delta"])
    messages: list[list[dict[str, Any]]] = [[]]
    for part in parts.values():
        if part["type"] == "text" and any(before["type"] == "text" for before in messages[-1]):
            messages.append([])
        messages[-1].append(part)
    return [{"role": "assistant", "content": content} for content in messages]


def is_ui_stream(event: dict[str, Any]) -> bool:
    kind = str(event.get("type"))
    return (kind in _GROWING and _delta(event) is not None) or (kind in _CALLS and _call_id(event) is not None)


def are_parts(events: list[Any]) -> bool:
    """Whether these are the parts of a stream as `fullStream` gives them, some of which say something."""
    return all(str(event.get("type")) in _PARTS for event in events) and any(map(is_ui_stream, events))


def _delta(event: dict[str, Any]) -> str | None:
    return next((event[key] for key in ("delta", "text", "textDelta") if isinstance(event.get(key), str)), None)


def _call_id(event: dict[str, Any]) -> str | None:
    return first_id(event, "toolCallId", "id")


def ui_stream(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The message that the events come to; a call's arguments are the text that the model wrote, where it came."""
    parts: list[dict[str, Any]] = []
    growing: dict[tuple[str, Any], dict[str, Any]] = {}

    def part(name: str, ident: Any) -> dict[str, Any]:
        if (name, ident) not in growing:
            parts.append(growing.setdefault((name, ident), {"type": name}))
        return growing[name, ident]

    for event in events:
        kind = str(event.get("type"))
        if kind in _GROWING:
            add(part(_GROWING[kind], first_id(event, "id")), "text", _delta(event))
        elif kind in _CALLS:
            call = part("tool-call", _call_id(event))
            call |= {"toolCallId": _call_id(event), "toolName": event.get("toolName") or call.get("toolName")}
            if kind == "tool-input-delta":
                add(call, "input", first_text(event, "inputTextDelta", "delta"))
            elif event.get("input") is not None and call.get("input") is None:
                call["input"] = event["input"]
        elif kind in _RESULTS:
            result = {"toolCallId": event.get("toolCallId"), "output": event.get("output", event.get("result"))}
            parts.append({"type": "tool-result", "toolName": event.get("toolName"), **result})
        elif kind in _BEGINS:  # ids begin anew with each step
            growing.pop((kind.removesuffix("-start"), first_id(event, "id")), None)
    usage = next((event["usage"] for event in reversed(events) if isinstance(event.get("usage"), dict)), None)
    return {"role": "assistant", "content": parts, "usage": usage}


_AT_PART, _AT_TEXT = "/message/content/parts/", "/message/content/text"


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
            _grow_chatgpt(as_object(message.get("content")), place, as_object(delta))
    slugs = (first_text(message.get("metadata"), "model_slug") for message in messages.values())
    model = next(filter(None, slugs), None)
    return {"model": model, "choices": [{"message": body} for message in messages.values() if (body := _said(message))]}


def _grow_chatgpt(content: dict[str, Any], place: str, delta: dict[str, Any]) -> None:
    """Add a delta's text, which belongs where the last one did if it does not say where."""
    written = delta.get("v")
    if not isinstance(written, str):
        return
    replaces = delta.get("o") == "replace"
    if place == _AT_TEXT:
        if replaces:
            content["text"] = ""
        add(content, "text", written)
    number = place.removeprefix(_AT_PART)
    if place.startswith(_AT_PART) and number.isdigit() and int(number) <= len(content.get("parts", [])):
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
