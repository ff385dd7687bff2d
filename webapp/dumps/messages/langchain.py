"""LangChain's messages however they were written: `messages_to_dict`, `dumpd` (`lc: 1`), or a message's own fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeGuard

from webapp.dumps.messages.pieces import Path
from webapp.dumps.values import as_list, as_object

_TYPES = {
    "HumanMessage": "human",
    "AIMessage": "ai",
    "AIMessageChunk": "ai",
    "HumanMessageChunk": "human",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "function",
    "ChatMessage": "chat",
}
_GENERATION = {"text", "generation_info", "type", "message"}
_NAMES = (*_TYPES.values(), *_TYPES)


def is_message(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether this is a message of LangChain's, in any of its forms."""
    if not isinstance(value, dict):
        return False
    if value.get("type") == "constructor":
        return as_list(value.get("id"))[-1:] != [] and as_list(value["id"])[-1] in tuple(_TYPES)
    if isinstance(value.get("data"), dict) and "content" in value["data"]:
        return value.get("type") in _NAMES
    return value.get("type") in _NAMES and "content" in value and "role" not in value


def is_chunk(value: dict[str, Any]) -> bool:
    """Whether this is a piece of a streamed answer."""
    type_names = as_list(value.get("id"))[-1:] if value.get("type") == "constructor" else [value.get("type")]
    return type_names == ["AIMessageChunk"] or as_object(value.get("data")).get("type") == "AIMessageChunk"


def unwrapped(value: dict[str, Any], at: Path = ()) -> tuple[dict[str, Any], Path]:
    """The message's own fields, its type as LangChain's shorter word, and where they stand."""
    name = value.get("type")
    if name == "constructor" and isinstance(value.get("kwargs"), dict):
        listed = as_list(value.get("id"))
        value, at, name = value["kwargs"], (*at, "kwargs"), listed[-1] if listed else None
    elif isinstance(value.get("data"), dict):
        value, at = value["data"], (*at, "data")
    kind = _TYPES.get(str(name), name)
    return ({**value, "type": kind} if "role" not in value else value), at


def plain_messages(values: Any) -> Any:
    """A request's messages, nested in lists of one or not, with LangChain's unwrapped."""
    if isinstance(values, list) and len(values) == 1 and isinstance(values[0], list):
        values = values[0]
    if not isinstance(values, list):
        return values
    return [unwrapped(value)[0] if is_message(value) else value for value in values]


def generations_body(outputs: dict[str, Any]) -> dict[str, Any]:
    """The answer as a provider's body: as it came, or LangChain's generations."""
    generations = outputs.get("generations")
    if not isinstance(generations, list):
        message = outputs.get("output", outputs.get("message"))
        if isinstance(message, str):
            return {"choices": [{"text": message}]}
        if isinstance(message, dict) and "role" in message:
            return {"choices": [{"message": message}]}
        listed = [inner for inner in as_list(outputs.get("messages")) if isinstance(inner, dict)]
        if message is None and listed:
            message = listed[-1]
            return {"choices": [{"message": unwrapped(message)[0] if is_message(message) else message}]}
        return {"choices": [{"message": unwrapped(message)[0]}]} if is_message(message) else outputs
    flat = [inner for outer in generations for inner in (outer if isinstance(outer, list) else [outer])]
    choices: list[dict[str, Any]] = []
    for generation in flat:
        message = as_object(generation).get("message")
        if is_message(message):
            inner, written = unwrapped(message)[0], as_object(generation).get("text")
            empty = "content" in inner and not inner["content"] and written
            choices.append({"message": {**inner, "content": written} if empty else inner})
        else:
            choices.append({"text": as_object(generation).get("text")})
    return {"choices": choices}


def unread_generations(outputs: dict[str, Any]) -> Iterator[str]:
    """What to say of generations of which only the text is known, and that hold more."""
    listed = as_list(outputs.get("generations"))
    for generation in [inner for outer in listed for inner in (outer if isinstance(outer, list) else [outer])]:
        message, holder = as_object(generation).get("message"), as_object(generation)
        unknown = {key: value for key, value in holder.items() if key not in _GENERATION}
        more = any(isinstance(value, dict | list) and value for value in unknown.values())
        if not is_message(message) and (more or message):
            keys = ", ".join(repr(str(key)[:40]) for key in holder)
            yield f"a generation without a known message (its keys: {keys}); only its text was read"
