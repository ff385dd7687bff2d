"""Streams whose chunks or events say what they add to which message or item: OpenAI's APIs, and Cohere's."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from webapp.dumps.decoding import json_or_none
from webapp.dumps.values import as_list, as_object

_ADDED = {
    "response.function_call_arguments.delta": ("function_call", "arguments"),
    "response.custom_tool_call_input.delta": ("custom_tool_call", "input"),
    "response.mcp_call_arguments.delta": ("mcp_call", "arguments"),
}
_TEXTS = {"response.output_text.delta": ("output_text", "text"), "response.refusal.delta": ("refusal", "refusal")}
_THOUGHTS = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
_SURE_PIECES, _SURE_LENGTH, _SURE_LETTERS = 3, 8, 5
"""pieces that grow, code points of the last but one, and different ones: what chance makes so, as rules of dashes, has
fewer"""
_GROWS = 10
"""levels down in a body at which texts may grow"""
_LONGEST_NAME = 1000
"""characters of a tool's name from which on it grows no more: each piece is put behind a copy of those before it"""
_COHERE = (
    *("message-start", "content-start", "content-delta", "content-end", "tool-plan-delta"),
    *("tool-call-start", "tool-call-delta", "tool-call-end", "message-end"),
)


def is_responses(event: dict[str, Any]) -> bool:
    return isinstance(event.get("response"), dict) or str(event.get("type")).startswith("response.")


def responses(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The response as it was completed; where the stream ends before that, what its deltas say."""
    states = [event.get("response", event) for event in events if event.keys() & {"response", "output"}]
    last = as_object(states[-1]) if states else {}
    if last.get("output") and "type" not in last:  # which Perplexity's last event is itself
        return last
    items: dict[Any, dict[str, Any]] = {}
    for event in events:
        place = event.get("output_index", event.get("item_id"))
        if isinstance(place, list | dict):
            continue
        if isinstance(event.get("item"), dict):
            items.setdefault(place, {}).update(event["item"])
        elif isinstance(event.get("delta"), str):
            _grow(items.setdefault(place, {}), event)
    return {**last, "output": list(items.values())}


def _grow(item: dict[str, Any], event: dict[str, Any]) -> None:
    kind, delta = str(event.get("type")), event["delta"]
    if kind in _ADDED:
        item_type, key = _ADDED[kind]
        item.setdefault("type", item_type)
        add(item, key, delta)
    elif kind in _TEXTS:
        part_type, key = _TEXTS[kind]
        item.setdefault("role", "assistant")
        _add(item, "content", event.get("content_index"), part_type, key, delta)
    elif kind in _THOUGHTS:
        item.setdefault("type", "reasoning")
        _add(item, "summary", event.get("summary_index", event.get("content_index")), "summary_text", "text", delta)


def _add(item: dict[str, Any], where: str, index: Any, kind: str, key: str, delta: str) -> None:
    """Add to the part with this index, which counts from 0."""
    if not isinstance(parts := item.get(where), _Own):
        parts = item[where] = _Own(dict(part) if isinstance(part, dict) else part for part in as_list(parts))
    place = index if isinstance(index, int) and 0 <= index <= len(parts) else len(parts)
    if place == len(parts):
        parts.append({"type": kind})
    parts[place] = parts[place] if isinstance(parts[place], dict) else {"type": kind}
    add(parts[place], key, delta)


def is_cohere(event: dict[str, Any]) -> bool:
    return event.get("type") in _COHERE and bool(event.keys() & {"delta", "index"})


def cohere(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The message that Cohere's events say; its usage comes last."""
    blocks: dict[Any, dict[str, Any]] = {}
    calls: dict[Any, dict[str, Any]] = {}
    plan, usage, why = "", None, None
    for event in events:
        delta = as_object(event.get("delta"))
        usage, why = delta.get("usage", usage), delta.get("finish_reason", why)
        message, index = delta.get("message"), str(event.get("index"))
        if not isinstance(message, dict) or event.get("type") == "message-start":
            continue
        plan += or_empty(message.get("tool_plan"))
        if isinstance(message.get("content"), dict):
            block, content = blocks.setdefault(index, {}), message["content"]
            texts = {key for key in ("text", "thinking") if isinstance(content.get(key), str)}
            block.update({key: value for key, value in content.items() if key not in texts})
            grow(block, content, *texts)
        if isinstance(message.get("tool_calls"), dict):
            grow_call(calls.setdefault(index, {"function": {"name": None}}), message["tool_calls"])
    answer = {"role": "assistant", "content": list(blocks.values()), "tool_calls": streamed(calls)}
    return {"message": {**answer, "tool_plan": plan}, "usage": usage, "finish_reason": why}


def is_older_cohere(event: dict[str, Any]) -> bool:
    return isinstance(event.get("event_type"), str) and isinstance(event.get("is_finished"), bool)


def older_cohere(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The answer of the API's first version: as it ends, or where it was cut, what came of it."""
    states = [event["response"] for event in events if isinstance(event.get("response"), dict)]
    texts = [or_empty(event.get("text")) for event in events if event.get("event_type") == "text-generation"]
    last = states[-1] if states else {}
    return {**last, "text": or_empty(last.get("text")) or "".join(texts)}


def grow_call(call: dict[str, Any], delta: dict[str, Any]) -> None:
    """Add a delta to its call: the first id stays, and the first name, which goes on as long as no arguments came."""
    function, pieces = as_object(delta.get("function")), call["function"].setdefault("arguments", Pieces())
    name, before = or_empty(function.get("name")), or_empty(call["function"].get("name"))
    if name and not pieces and len(before) < _LONGEST_NAME:
        call["function"]["name"] = name if name.startswith(before) else before + name
    call["id"] = call.get("id") or delta.get("id")
    if written := or_empty(function.get("arguments")):
        pieces.append(written)


def streamed(calls: dict[Any, dict[str, Any]]) -> list[dict[str, Any]]:
    """The calls, with a mark on those of which no arguments came: a stream says nothing where there are none."""
    for call in calls.values():
        call |= {"without_arguments": True} if says_nothing(call["function"]["arguments"]) else {}
    return list(calls.values())


def joined(pieces: list[str]) -> str:
    """The text that pieces add up to: the last of them where each repeats all before it, or that alone repeats all."""
    pieces = [piece for piece in pieces if piece]
    whole, last = "".join(pieces), pieces[-1] if pieces else ""
    grows = len(pieces) > 1 and all(after.startswith(before) for before, after in pairwise(pieces))
    is_long = grows and len(pieces[-2]) >= _SURE_LENGTH and len(set(last)) >= _SURE_LETTERS
    if is_long and len(set(map(len, pieces))) >= _SURE_PIECES:
        return last
    is_repeated = (grows or whole == last * 2) and json_or_none(last) is not None and json_or_none(whole) is None
    return last if is_repeated else whole


class Pieces(list[str]):
    """A text that grows: adding each piece to the text before it takes time with its square. See `settled`."""


def says_nothing(value: Any) -> bool:
    """Whether pieces came, and no text in them."""
    return isinstance(value, Pieces) and not any(value)


class _Own(list[Any]):
    """Parts that are copied from an event, and may be changed."""


def grow(holder: dict[str, Any], delta: dict[str, Any], *keys: str) -> None:
    """Add a delta's texts to those that stand under the same keys."""
    for key in keys:
        if isinstance(delta.get(key), str):
            add(holder, key, delta[key])


def add(holder: Any, key: Any, piece: Any) -> None:
    """Add a text to the one under `key`; what is none is an empty one."""
    before = holder[key] if isinstance(holder, list) else holder.get(key)
    if not isinstance(before, Pieces):
        before = holder[key] = Pieces([or_empty(before)])
    before.append(or_empty(piece))


def settled(value: Any, levels: int = _GROWS) -> Any:
    """A body in which texts have grown, with these as texts."""
    if isinstance(value, Pieces):
        return joined(value)
    if isinstance(value, dict) and levels:
        return {key: settled(inner, levels - 1) for key, inner in value.items()}
    return [settled(inner, levels - 1) for inner in value] if isinstance(value, list) and levels else value


def or_empty(value: Any) -> str:
    """`value` where it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def number(event: dict[str, Any], key: str = "index") -> int | str | None:
    """Which of several choices, candidates or blocks an event is about."""
    number = event.get(key)
    return number if isinstance(number, int | str | None) else repr(number)


def is_end(event: dict[str, Any]) -> bool:
    """Whether a choice, or a candidate, of an event ends."""
    choices = map(as_object, [*as_list(event.get("choices")), *as_list(event.get("candidates"))])
    return any(choice.get("finish_reason") or choice.get("finishReason") for choice in choices)


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
        if isinstance(message.get("content"), Pieces):
            message["content"] = joined(message["content"]) or beside
        elif beside and not message["tool_calls"]:
            message["content"] = beside
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
        newest[index] = calls[len(calls)] = {"function": {"name": None}}
    return newest[index]  # type: ignore[no-any-return]


def _begins_call(last: dict[str, Any], delta: dict[str, Any]) -> bool:
    """Whether a name comes with another id; without ids, with other or further arguments than a whole call's."""
    function, ident = as_object(delta.get("function")), delta.get("id")
    name, written = function.get("name"), or_empty(function.get("arguments"))
    if not name or (ident and last.get("id")):
        return bool(name) and ident != last["id"]
    pieces = last["function"].get("arguments", [])
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
