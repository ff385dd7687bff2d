"""LangChain's messages however they were written: `messages_to_dict`, `dumpd` (`lc: 1`), or a message's own fields."""

from __future__ import annotations

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
            choices.append({"message": unwrapped(message)[0]})
        else:
            choices.append({"text": as_object(generation).get("text")})
    return {"choices": choices}
