"""Puts a streamed answer together: the events of a response body become the body as it would have come in one piece."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from webapp import jsontext
from webapp.dumps.decoding import Damage, Decoder, json_or_none
from webapp.dumps.messages import chatgpt_streams, item_streams, ui_streams
from webapp.dumps.messages.item_streams import grow, grow_call, or_empty, streamed
from webapp.dumps.values import as_list, as_object

_LINE = re.compile(r"^(?:data:[ \t]*)?(\{[^\r\n]*)", re.M)
_ENDS = {
    "message_start": re.compile(r'"(?:message_stop|error|stop_reason)"\s*[,:}](?!\s*null)'),
    "response.created": re.compile(
        r'"(?:response\.(?:completed|failed|incomplete|cancelled)|error)"\s*[,:}](?!\s*null)'
    ),
    "chat.completion.chunk": re.compile(r'\[DONE\]|"(?:finish_reason|error)"\s*:(?!\s*null)'),
}
"""what ends a stream, by what stands in its beginning"""
_OBJECT = re.compile(r'\{\s*"')
_ANTHROPIC = ("message_start", "content_block_start", "content_block_delta")
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
        return put_together([whole]) if str(whole.get("object")).endswith(".chunk") else whole
    if ui_streams.is_data_stream(body):
        return put_together(ui_streams.data_stream(body))
    if isinstance(whole, list) and any("generated_text" in as_object(item) for item in whole):  # Hugging Face's
        return whole
    return put_together(whole if isinstance(whole, list) else list(_events(body)))


def stream_faults(body: Any) -> tuple[list[str], int]:
    """Errors that a stream's events tell, and how many of its `data:` lines with an object cannot be read."""
    errors, damaged = list[str](), 0
    if not isinstance(body, str) or len(body) > _MOST:
        return errors, damaged
    for match in _LINE.finditer(body):
        value = json_or_none(match[1])
        damaged += value is None and body.lstrip()[:1] not in ("{", "[")
        inner = as_object(value)
        error = inner.get("error") or as_object(inner.get("response")).get("error")
        if error and not as_list(inner.get("choices")):
            message = as_object(error).get("message") or error
            errors.append(message if isinstance(message, str) else jsontext.dumps(message))
    return errors, damaged


def ends_early(body: Any) -> bool:
    """Whether a stream begins an answer and says neither that it ends nor why not."""
    if not isinstance(body, str) or len(body) > _MOST:
        return False
    ends = next((ends for begins, ends in _ENDS.items() if begins in body), None)
    return ends is not None and not ends.search(body)


def put_together(events: list[Any]) -> Any:
    """The body that a stream's events say, as `assembled`."""
    parts = [event for event in events if isinstance(event, dict)]
    for fits, make in _MAKERS:
        if any(map(fits, parts)):
            return make(parts)
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


def _is_ollama(event: dict[str, Any]) -> bool:
    return isinstance(event.get("done"), bool) and ("response" in event or "message" in event)


def _number(event: dict[str, Any], key: str = "index") -> int | str | None:
    """Which of several choices, candidates or blocks an event is about."""
    number = event.get(key)
    return number if isinstance(number, int | str | None) else repr(number)


def _ollama(events: list[dict[str, Any]]) -> dict[str, Any]:
    """`/api/chat` and `/api/generate`; the last event says what was spent."""
    message: dict[str, Any] = {"role": "assistant", "content": "", "tool_calls": []}
    for event in events:
        delta = as_object(event.get("message"))
        message["content"] += or_empty(delta.get("content")) + or_empty(event.get("response"))
        thought = or_empty(delta.get("thinking")) + or_empty(event.get("thinking"))
        message["thinking"] = or_empty(message.get("thinking")) + thought
        message["tool_calls"] += as_list(delta.get("tool_calls"))
    return {**events[0], **events[-1], "message": message, "response": None}


def _anthropic(events: list[dict[str, Any]]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant"}
    blocks: dict[Any, dict[str, Any]] = {}
    for event in events:
        if isinstance(event.get("message"), dict):
            message.update(event["message"])
        if isinstance(event.get("content_block"), dict):
            blocks[_number(event)] = dict(event["content_block"])
        delta = event.get("delta")
        if isinstance(delta, dict) and event.get("type") == "content_block_delta":
            _grow(blocks.setdefault(_number(event), {"type": "text"}), delta)
        if isinstance(event.get("usage"), dict):
            message["usage"] = {**(message.get("usage") or {}), **event["usage"]}
    content = [{**block, "without_arguments": True} if block.get("input") == "" else block for block in blocks.values()]
    return {**message, "content": content}


def _grow(block: dict[str, Any], delta: dict[str, Any]) -> None:
    """Add a delta to its block; the arguments of a call stay the text that the model wrote."""
    kind = str(delta.get("type"))
    if kind == "input_json_delta":
        block["input"] = or_empty(block.get("input")) + or_empty(delta.get("partial_json"))
    elif kind in _DELTAS:
        key, part = _DELTAS[kind]
        block[key] = or_empty(block.get(key)) + or_empty(delta.get(part))


def _bedrock(events: list[dict[str, Any]]) -> dict[str, Any]:
    blocks: dict[Any, dict[str, Any]] = {}
    usage: Any = None
    for event in events:
        usage = event.get("usage", usage)
        if "contentBlockIndex" not in event:
            continue
        block = blocks.setdefault(_number(event, "contentBlockIndex"), {})
        start, delta = event.get("start"), event.get("delta")
        if isinstance(start, dict):
            block.update({key: dict(value) for key, value in start.items() if isinstance(value, dict)})
        if isinstance(delta, dict):
            _grow_bedrock(block, delta)
    return {"output": {"message": {"role": "assistant", "content": list(blocks.values())}}, "usage": usage}


def _grow_bedrock(block: dict[str, Any], delta: dict[str, Any]) -> None:
    grow(block, delta, "text")
    use, thought, result = delta.get("toolUse"), delta.get("reasoningContent"), delta.get("toolResult")
    if isinstance(use, dict):
        inner = block.setdefault("toolUse", {})
        inner["input"] = or_empty(inner.get("input")) + or_empty(use.get("input"))
    if isinstance(thought, dict) and isinstance(thought.get("text"), str):
        inner = block.setdefault("reasoningContent", {"reasoningText": {"text": ""}})
        inner["reasoningText"]["text"] += thought["text"]
    if isinstance(result, list):
        block.setdefault("toolResult", {}).setdefault("content", []).extend(result)


def _google(events: list[dict[str, Any]]) -> dict[str, Any]:
    parts_by_index: dict[Any, list[Any]] = {}
    last: dict[str, Any] = {}
    for event in events:
        last = {**last, **event}
        for candidate in map(as_object, as_list(event.get("candidates"))):
            parts = parts_by_index.setdefault(_number(candidate) or 0, [])
            content = candidate.get("content")
            if content is None:  # what stands in its place is a part that is not known
                parts.extend({key: value} for key, value in candidate.items() if isinstance(value, dict) and value)
            listed = content.get("parts") if isinstance(content, dict) else content
            for part in listed if isinstance(listed, list) else [listed] if listed else []:
                _grow_google(parts, {"text": part} if isinstance(part, str) else part)
    return {**last, "candidates": [{"content": {"role": "model", "parts": parts}} for parts in parts_by_index.values()]}


def _grow_google(parts: list[Any], part: Any) -> None:
    if not isinstance(part, dict) or not parts or not isinstance(parts[-1], dict):
        parts.append(dict(part) if isinstance(part, dict) else part)
        return
    same = isinstance(part.get("text"), str) and isinstance(parts[-1].get("text"), str)
    if same and parts[-1].get("thought") == part.get("thought"):
        parts[-1]["text"] += part["text"]
    else:
        parts.append(dict(part))


def _chat(events: list[dict[str, Any]]) -> dict[str, Any]:
    messages: dict[Any, dict[str, Any]] = {}
    texts: dict[Any, str] = {}
    last: dict[str, Any] = {}
    for event in events:
        last = {**last, **{key: value for key, value in event.items() if value is not None}}
        for choice in as_list(event.get("choices")):
            delta = choice.get("delta") if isinstance(choice, dict) else None
            if isinstance(choice, dict) and isinstance(choice.get("text"), str):  # of /completions
                texts[_number(choice)] = texts.get(_number(choice), "") + choice["text"]
            if isinstance(delta, dict):
                _grow_chat(messages.setdefault(_number(choice), {"role": "assistant"}), delta)
    for message in messages.values():
        message["tool_calls"] = streamed(message.get("tool_calls", {}))
    choices = [{"message": message} for message in messages.values()]
    return {**last, "choices": [*choices, *({"text": written} for written in texts.values())]}


def _grow_chat(message: dict[str, Any], delta: dict[str, Any]) -> None:
    grow(message, delta, "content", "reasoning_content", "reasoning", "refusal")
    if isinstance(delta.get("function_call"), dict):  # the older way
        called = message.setdefault("function_call", {"name": None, "arguments": ""})
        called["name"] = called["name"] or delta["function_call"].get("name")
        called["arguments"] += or_empty(delta["function_call"].get("arguments"))
    for delta_call in as_list(delta.get("tool_calls")):
        if isinstance(delta_call, dict):
            calls = message.setdefault("tool_calls", {})
            grow_call(calls.setdefault(str(delta_call.get("index")), {"function": {}}), delta_call)


_MAKERS: tuple[tuple[Callable[[dict[str, Any]], bool], Callable[[list[dict[str, Any]]], Any]], ...] = (
    (chatgpt_streams.is_chatgpt, chatgpt_streams.chatgpt),
    (item_streams.is_older_cohere, item_streams.older_cohere),
    (lambda event: event.get("type") in _ANTHROPIC, _anthropic),
    (lambda event: "contentBlockIndex" in event, _bedrock),
    (lambda event: isinstance(event.get("candidates"), list), _google),
    (lambda event: isinstance(event.get("choices"), list), _chat),
    (_is_ollama, _ollama),
    (item_streams.is_responses, item_streams.responses),
    (item_streams.is_cohere, item_streams.cohere),
    (ui_streams.is_ui_stream, ui_streams.ui_stream),
)
"""which events a stream of a provider has, and what puts them together"""
