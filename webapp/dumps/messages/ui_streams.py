"""Streams of the Vercel AI SDK's UI messages: events that say what they add to which part."""

from __future__ import annotations

import re
from typing import Any

from webapp.dumps.decoding import json_or_none
from webapp.dumps.messages.item_streams import add
from webapp.dumps.values import first_id, first_text

_LINE = re.compile(r"^([0-9a-k]):([\"{\[].*)$", re.M)
"""a line of the older data stream: what it holds is said by a letter"""
_KINDS = {"0": "text-delta", "g": "reasoning-delta"}
_DELTAS = {"text-delta": "text", "reasoning-delta": "reasoning"}
_CALLS = ("tool-input-start", "tool-input-delta", "tool-input-available", "tool-input-error", "tool-call")
_RESULTS = ("tool-result", "tool-output-available")
_BEGINS = ("text-start", "reasoning-start")
_PARTS = {
    *(*_DELTAS, *_CALLS, *_RESULTS, *_BEGINS, "text-end", "reasoning-end", "tool-input-end", "tool-error", "object"),
    *("start", "finish", "start-step", "finish-step", "step-start", "step-finish", "abort", "error", "raw", "source"),
    *("file", "message-metadata", "message-start", "response-metadata", "stream-start", "tool-output-error"),
}


def is_data_stream(body: str) -> bool:
    """Whether this is the SDK's older stream: `0:"text"`, `9:{call}`, `d:{finish}`, one a line."""
    lines = [line for line in body.strip().splitlines()[:20] if line.strip()]
    return len(lines) > 1 and all(_LINE.match(line) for line in lines)


def data_stream(body: str) -> list[tuple[str, dict[str, Any]]]:
    """Its lines, each with what it says as an event of the newer one."""
    events: list[tuple[str, dict[str, Any]]] = []
    for line in _LINE.finditer(body):
        letter, value = line[1], json_or_none(line[2])
        if letter in _KINDS and isinstance(value, str):
            events.append((line[0], {"type": _KINDS[letter], "delta": value}))
        elif letter == "3":
            events.append((line[0], {"type": "error", "error": value}))
        elif letter == "9" and isinstance(value, dict):
            events.append((line[0], {"type": "tool-input-available", **value, "input": value.get("args")}))
        elif letter in ("d", "e") and isinstance(value, dict):
            events.append((line[0], {"type": "finish", "usage": value.get("usage")}))
    return events


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
    return (kind in _DELTAS and _delta(event) is not None) or (kind in _CALLS and _call_id(event) is not None)


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
        if kind in _DELTAS:
            add(part(_DELTAS[kind], first_id(event, "id")), "text", _delta(event))
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
