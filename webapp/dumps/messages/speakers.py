"""Who spoke and what was said, in messages of apps that call both as they like: {"sender", "text"} and others."""

from __future__ import annotations

import re
from typing import Any

from webapp.dumps.messages.calls import CALL_LISTS
from webapp.dumps.values import as_object

_BY_USER = ("isCreatedByUser", "is_user", "isUser", "fromUser", "from_user", "isHuman")
_WHO = ("role", "sender", "from", "author", "speaker", "who", "sender_type", "senderType", "type")
_NAMES = ("role", "type", "name")
"""who spoke, where that is an object"""
SAID = ("content", "text", "message", "mes", "say", "said", "value", "body", "parts", "contentParts", "markdown")
_INNER = ("message", "response", "data", "node")
_MODEL_NAMES = r"(?:chatgpt|gpt|claude|grok|gemini|copilot|deepseek|llama|mistral|qwen)[\w .:\-]{0,40}"
_ROLES = (
    ("user", re.compile(r"user|human|prompt|prompter|you|me|customer|request|question|client|visitor")),
    (
        "assistant",
        re.compile(rf"assistant|ai|(?:chat)?bot|model|response|answer|agent|llm|reply|completion|{_MODEL_NAMES}"),
    ),
    ("system", re.compile(r"system|developer|context")),
    ("tool", re.compile(r"tool|function|observation|tool_result")),
    ("thinking", re.compile(r"thinking|reasoning|thought")),
)


def spoken(value: Any) -> dict[str, Any] | None:
    """A message as {"role", "content"}, the latter unless it only calls; None where nobody who is known speaks."""
    for holder in (value, *(as_object(value).get(key) for key in _INNER)):
        if isinstance(holder, dict) and (role := speaker(holder)):
            key = _said_under(holder)
            rest = {name: inner for name, inner in holder.items() if name not in (*_BY_USER, *_WHO, *SAID, *_INNER)}
            if key is not None or any(holder.get(name) for name in CALL_LISTS):
                return {**rest, "role": role, **({} if key is None else {"content": holder[key]})}
    return None


def speaker(holder: dict[str, Any]) -> str | None:
    """Who speaks in a message, where that is known, whether or not anything is said."""
    for key in _BY_USER:
        if isinstance(holder.get(key), bool):
            return "user" if holder[key] else "assistant"
    for key in _WHO:
        who = holder.get(key)
        words = [who] if isinstance(who, str) else [as_object(who).get(name) for name in _NAMES]
        for word in (word.strip().lower() for word in words if isinstance(word, str)):
            if role := next((role for role, pattern in _ROLES if pattern.fullmatch(word)), None):
                return role
    return None


def _said_under(holder: dict[str, Any]) -> str | None:
    """The key of what was said; an empty text where there is nothing else."""
    for key in SAID:
        if (value := holder.get(key)) and (isinstance(value, str | list) or "parts" in as_object(value)):
            return key
    return next((key for key in SAID if holder.get(key) == ""), None)


def is_chat(items: list[Any], most: int = 50) -> bool:
    """Whether two sides speak in most of the first items, one of which is a model."""
    objects = [item for item in items[:most] if isinstance(item, dict)]
    messages = [message for item in objects if (message := spoken(item)) is not None]
    roles = {message["role"] for message in messages}
    return 2 * len(messages) >= len(objects) and {"assistant", "user"} <= roles
