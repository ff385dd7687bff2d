"""Puts a streamed answer together: the events of a response body become the body as it would have come in one piece."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from webapp import jsontext
from webapp.dumps.decoding import Damage, Decoder, json_or_none
from webapp.dumps.messages import chatgpt_streams, item_streams, ui_streams
from webapp.dumps.messages.item_streams import grow, grow_call, or_empty, streamed
from webapp.dumps.values import as_list, as_object, id_text

_LINE = re.compile(r"^(?:data:[ \t]*)?(\{[^\r\n]*)", re.M)
_ENDS = {
    "message_start": re.compile(r'"(?:message_stop|error|stop_reason)"\s*[,:}](?!\s*null)'),
    "response.created": re.compile(
        r'"(?:response\.(?:completed|failed|incomplete|cancelled)|error)"\s*[,:}](?!\s*null)'
    ),
    "chat.completion.chunk": re.compile(r'\[DONE\]|"(?:finish_reason|error)"\s*:(?!\s*null)'),
}
"""what ends a stream, by what stands in its beginning"""
_IDENT = re.compile(r'"id"\s*:\s*"([^"]+)".{0,300}?chat\.completion\.chunk')
_FINISHED = re.compile(r'.{0,300}?"id"\s*:\s*"([^"]+)".*"(?:finish_reason|error)"\s*:\s*["{]')
"""the answer that a chunk says it belongs to, and that it ends it"""
_OBJECT = re.compile(r'\{\s*"')
_ANTHROPIC = ("message_start", "content_block_start", "content_block_delta")
_BARE_EVENTS = ("ping", "message_stop")
_NAMED_EVENTS = (*_ANTHROPIC, "content_block_stop", "message_delta", *_BARE_EVENTS)
_BEDROCK = (
    *("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata"),
    *("internalServerException", "modelStreamErrorException", "throttlingException", "validationException"),
)
_MOST_BESIDE = 12
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
        event = whole if is_event(whole) else wrapped_event(whole)
        return whole if event is None else put_together([event])
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
    finished = {match[1] for line in body.splitlines() if (match := _FINISHED.match(line))}
    idents = Counter(_IDENT.findall(body))
    if len(idents) > 1 and (max(idents.values()) > 1 or len(finished) > 1):
        return bool(idents.keys() - finished)
    ends = next((ends for begins, ends in _ENDS.items() if begins in body), None)
    return ends is not None and not ends.search(body)


def put_together(events: list[Any]) -> Any:
    """The body that a stream's events say, as `assembled`; a list of them where it holds several answers."""
    parts = [_bare(event) for event in events if isinstance(event, dict)]
    dialect = next((dialect for dialect in _DIALECTS if any(map(dialect.fits, parts))), None)
    if dialect is None and (inner := [wrapped for part in parts if (wrapped := wrapped_event(part)) is not None]):
        return put_together(inner)
    if dialect is None:
        return None
    bodies = [dialect.make(answer) for answer in _each_answer(parts, dialect)]
    return bodies[0] if len(bodies) == 1 else bodies


def is_event(value: Any) -> bool:
    """Whether this is an event of a provider's stream, and can be nothing else."""
    if not isinstance(value, dict):
        return False
    event, kind = _bare(value), str(value.get("type"))
    if value.get("object") in ("chat.completion.chunk", "text_completion.chunk") or item_streams.is_older_cohere(value):
        return True
    if event is not value or _is_bedrock(value) or ui_streams.is_agui(value):
        return True
    if kind.startswith("response."):
        return "sequence_number" in value or bool(value.keys() & {"response", "item", "delta", "part", "text"})
    return kind in _NAMED_EVENTS and bool(value.keys() & {"message", "index", "delta"} or kind in _BARE_EVENTS)


def wrapped_event(value: Any) -> Any:
    """The event that an entry of a log holds beside when it came; None where it holds none."""
    members = value.values() if isinstance(value, dict) and len(value) <= _MOST_BESIDE else ()
    return next((inner for inner in members if is_event(inner)), None)


def _bare(event: dict[str, Any]) -> dict[str, Any]:
    """An event of Amazon's that stands under its name, without that."""
    name = next(iter(event)) if len(event) == 1 else None
    return {"event": name, **event[name]} if name in _BEDROCK and isinstance(event[name], dict) else event


def _each_answer(events: list[dict[str, Any]], dialect: _Dialect) -> list[list[dict[str, Any]]]:
    """The events of each answer in order: by the ids that they have, else from one that begins an answer on."""
    idents = [dialect.ident(event) if dialect.ident else None for event in events]
    by_ident = _tell_apart(idents, [bool(dialect.ident and _is_end(event)) for event in events])
    groups: dict[Any, list[dict[str, Any]]] = {}
    current: Any = None
    for event, ident in zip(events, idents, strict=True):
        if by_ident:
            current = ident or current
        elif groups and dialect.begins(event, groups[current]):
            current = (current or 0) + 1
        groups.setdefault(current, []).append(event)
    if by_ident and None in groups:  # what comes before the first id belongs to it
        early = groups.pop(None)
        first = next(iter(groups))
        groups[first] = [*early, *groups[first]]
    return list(groups.values())


def _tell_apart(idents: list[Any], ends: list[bool]) -> bool:
    """Whether ids tell several answers apart: some servers give each chunk one of its own."""
    counts = Counter(ident for ident in idents if ident)
    return len(counts) > 1 and (max(counts.values()) > 1 or sum(ends) > 1)


def _is_end(event: dict[str, Any]) -> bool:
    """Whether a choice, or a candidate, of an event ends."""
    choices = map(as_object, [*as_list(event.get("choices")), *as_list(event.get("candidates"))])
    return any(choice.get("finish_reason") or choice.get("finishReason") for choice in choices)


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
        message["stop_reason"] = as_object(delta).get("stop_reason") or message.get("stop_reason")
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


def _is_bedrock(event: dict[str, Any]) -> bool:
    return "contentBlockIndex" in event or event.get("event") in _BEDROCK


def _bedrock(events: list[dict[str, Any]]) -> dict[str, Any]:
    blocks: dict[Any, dict[str, Any]] = {}
    usage, why = None, None
    for event in events:
        usage, why = event.get("usage", usage), event.get("stopReason", why)
        if "contentBlockIndex" not in event:
            continue
        block = blocks.setdefault(_number(event, "contentBlockIndex"), {})
        start, delta = event.get("start"), event.get("delta")
        if isinstance(start, dict):
            block.update({key: dict(value) for key, value in start.items() if isinstance(value, dict)})
        if isinstance(delta, dict):
            _grow_bedrock(block, delta)
    message = {"role": "assistant", "content": list(blocks.values())}
    return {"output": {"message": message}, "usage": usage, "stopReason": why}


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
    whys: dict[Any, Any] = {}
    last: dict[str, Any] = {}
    for event in events:
        last = {**last, **event}
        for candidate in map(as_object, as_list(event.get("candidates"))):
            parts = parts_by_index.setdefault(_number(candidate) or 0, [])
            content = candidate.get("content")
            whys[_number(candidate) or 0] = candidate.get("finishReason") or whys.get(_number(candidate) or 0)
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
    same = isinstance(part.get("text"), str) and isinstance(parts[-1].get("text"), str)
    if same and parts[-1].get("thought") == part.get("thought"):
        parts[-1]["text"] += part["text"]
    else:
        parts.append(dict(part))


def _chat(events: list[dict[str, Any]]) -> dict[str, Any]:
    messages: dict[Any, dict[str, Any]] = {}
    texts: dict[Any, str] = {}
    whys: dict[Any, Any] = {}
    last: dict[str, Any] = {}
    for event in events:
        last = {**last, **{key: value for key, value in event.items() if value is not None}}
        for choice in as_list(event.get("choices")):
            delta = choice.get("delta") if isinstance(choice, dict) else None
            if isinstance(choice, dict) and choice.get("finish_reason"):
                whys[_number(choice)] = choice["finish_reason"]
            if isinstance(choice, dict) and isinstance(choice.get("text"), str):  # of /completions
                texts[_number(choice)] = texts.get(_number(choice), "") + choice["text"]
            if isinstance(delta, dict):
                _grow_chat(messages.setdefault(_number(choice), {"role": "assistant"}), delta)
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


def _chat_begins(event: dict[str, Any], before: list[dict[str, Any]]) -> bool:
    """Of chunks without ids: whether somebody begins to speak where an answer has ended."""
    deltas = (as_object(as_object(choice).get("delta")) for choice in as_list(event.get("choices")))
    numbers = {_number(as_object(choice)) for choice in as_list(event.get("choices"))}
    ended = {_number(as_object(c)) for e in before if _is_end(e) for c in as_list(e.get("choices"))}
    return bool(numbers & ended) and any(delta.get("role") for delta in deltas)


def _google_begins(event: dict[str, Any], before: list[dict[str, Any]]) -> bool:
    """Of chunks without ids: whether the answer before it ended; older servers said so in every chunk."""
    return len(before) > 1 and not _is_end(before[0]) and _is_end(before[-1])


def _starts(*names: str, key: str = "type") -> Callable[[dict[str, Any], list[dict[str, Any]]], bool]:
    return lambda event, before: event.get(key) in names and any(one.get(key) not in names for one in before)


def _begins_never(event: dict[str, Any], before: list[dict[str, Any]]) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class _Dialect:
    """Which events a provider's stream has, what puts an answer together, and where another one begins."""

    fits: Callable[[dict[str, Any]], bool]
    make: Callable[[list[dict[str, Any]]], Any]
    begins: Callable[[dict[str, Any], list[dict[str, Any]]], bool] = _begins_never
    ident: Callable[[dict[str, Any]], Any] | None = None
    """the answer that an event says it belongs to"""


_DIALECTS = (
    _Dialect(chatgpt_streams.is_chatgpt, chatgpt_streams.chatgpt),
    _Dialect(item_streams.is_older_cohere, item_streams.older_cohere, _starts("stream-start", key="event_type")),
    _Dialect(lambda event: event.get("type") in _ANTHROPIC, _anthropic, _starts("message_start")),
    _Dialect(_is_bedrock, _bedrock, _starts("messageStart", key="event")),
    _Dialect(
        lambda event: isinstance(event.get("candidates"), list),
        _google,
        _google_begins,
        lambda event: id_text(event.get("responseId", event.get("response_id"))),
    ),
    _Dialect(
        lambda event: isinstance(event.get("choices"), list),
        _chat,
        _chat_begins,
        lambda event: id_text(event.get("id")),
    ),
    _Dialect(_is_ollama, _ollama, lambda event, before: before[-1].get("done") is True),
    _Dialect(item_streams.is_responses, item_streams.responses, _starts("response.created")),
    _Dialect(item_streams.is_cohere, item_streams.cohere, _starts("message-start")),
    _Dialect(ui_streams.is_agui, ui_streams.agui, _starts("RUN_STARTED")),
    _Dialect(ui_streams.is_ui_stream, ui_streams.ui_stream, _starts("start")),
)
