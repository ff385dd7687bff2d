"""The messages of a request body: OpenAI (both APIs), Anthropic, Google, Bedrock, Cohere, and who speaks like them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from webapp import jsontext
from webapp.dumps.messages.pieces import Path, Piece, block, content, pieces
from webapp.dumps.messages.turns import Conversation, PlacedTurn, message_turns, text_turns, turns_of
from webapp.dumps.values import as_list

_SYSTEM = ("system", "systemInstruction", "system_instruction", "instructions", "preamble")
_SYSTEM_ROLES = ("system", "developer")
_MESSAGES = ("chat_history", "messages", "contents", "input", "prompt", "message", "inputText", "inputs")
_CALLS = ("function_call", "custom_tool_call", "tool_call", "mcp_call")
_THOUGHTS = ("thinking", "redacted_thinking", "reasoning")
_PASSING = ("cache_control", "signature", "annotations", "id", "status", *_THOUGHTS, "reasoning_content")
"""what one request says of a message and the next one does not"""


@dataclass(frozen=True, slots=True)
class RequestMessage:
    """A message of a request: what it comes to, whether it is a system prompt, and what makes turns of it."""

    identity: str
    is_system: bool
    make: Callable[[], list[PlacedTurn]]


def request_messages(request: dict[str, Any], at: Path, conversation: Conversation) -> Iterator[RequestMessage]:
    """Each message of a request, system prompts that stand beside them first."""
    for key in _SYSTEM:
        if value := request.get(key):
            make = partial(turns_of, content(value, (*at, key)), "system", conversation)
            yield RequestMessage(identity({"role": "system", "content": value}), True, make)
    for key in _MESSAGES:
        value = request.get(key)
        listed = [((*at, key, index), message) for index, message in enumerate(as_list(value))]
        for path, message in listed or [((*at, key), value)]:
            if isinstance(message, str):  # the older completions take several prompts at once
                make = partial(text_turns, message, path, "user", conversation)
                yield RequestMessage(identity({"role": "user", "content": message}), False, make)
            elif isinstance(message, dict) and listed:
                make = partial(request_message, message, path, conversation)
                yield RequestMessage(identity(message), message.get("role") in _SYSTEM_ROLES, make)


def identity(message: dict[str, Any]) -> str:
    """What a message comes to, as text: the same however its content is wrapped, and whatever is noted beside it."""
    fields = {key: _plain(value) for key, value in message.items() if key not in _PASSING and value is not None}
    if isinstance(fields.get("message"), str) and "content" not in fields:  # Cohere's older history
        fields["content"] = fields.pop("message")
    if isinstance(role := fields.get("role"), str):
        fields["role"] = role.lower()
    return jsontext.dumps(dict(sorted(fields.items(), key=lambda pair: str(pair[0]))))


def _plain(value: Any) -> Any:
    """A content without marks of caches and without thoughts; one block of text is that text."""
    if not isinstance(value, list):
        return value
    blocks = [_unmarked(inner) for inner in value if not (isinstance(inner, dict) and inner.get("type") in _THOUGHTS)]
    only = blocks[0] if len(blocks) == 1 else None
    is_text = isinstance(only, dict) and only.keys() <= {"type", "text"} and isinstance(only.get("text"), str)
    return only["text"] if is_text and only is not None else blocks


def _unmarked(value: Any) -> Any:
    return {key: inner for key, inner in value.items() if key != "cache_control"} if isinstance(value, dict) else value


def request_message(message: dict[str, Any], path: Path, conversation: Conversation) -> list[PlacedTurn]:
    """A message of a request. Google's may lack a role; items of the Responses API have a type instead."""
    if isinstance(message.get("message"), str) and "content" not in message:  # Cohere's older history
        role = {"CHATBOT": "assistant"}.get(str(message.get("role")), str(message.get("role")).lower())
        return text_turns(message["message"], (*path, "message"), role, conversation)
    if "role" in message:
        return message_turns(message, conversation, path)
    kind = message.get("type")
    if isinstance(kind, str):
        role = "assistant" if kind in (*_CALLS, "reasoning") else "user"
        return turns_of(said_item(message, path), role, conversation)
    return message_turns({**message, "role": "user"}, conversation, path)


def said_item(item: dict[str, Any], at: Path) -> list[Piece]:
    """An output item of the Responses API: a message, a call, or a thought."""
    if "role" in item and item.get("type") == "message" and not isinstance(item.get("content"), str | list):
        return [*pieces(item, at), Piece("unread", "a message without a content")]
    if item.get("type") == "message" and "role" not in item:
        return [*pieces({**item, "role": None}, at), Piece("unread", "a message that does not say whose it is")]
    if "role" not in item and not isinstance(item.get("type"), str) and len(item) > 1:
        return list(block(item, at)) or [Piece("unread", "an item that does not say what it is; it was left out")]
    return pieces(item, at) if "role" in item else list(block(item, at))
