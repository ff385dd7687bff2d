"""What of a message was not read: calls under keys that are not known, and texts where it has no content at all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from webapp.dumps.messages.calls import ARGUMENTS, CALL_LISTS, Piece, has_arguments, is_callish
from webapp.dumps.values import text

CONTENTS = ("blocks", "items", "segments", "contentParts")
"""where messages without a content hold their blocks: LlamaIndex', Semantic Kernel's, Zed's, Chatbox'"""
_WORDS = 20
"""characters of a text with a space from which on a part that is not known is worth a word"""
_UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""letters of scripts that put no spaces between words: Chinese, Japanese, Thai, Lao, Burmese, Khmer"""
_SIGNS = 4
_STEPS = 4
THINKING = ("reasoning_content", "reasoning", "thinking", "tool_plan")
"""where a message holds what was thought beside its content"""
SAYING = {"content", "parts", "refusal", *CONTENTS}
_KNOWN = {
    *(*SAYING, *THINKING, *CALL_LISTS, "thinking_blocks", "invalid_tool_calls", "additional_kwargs", "extra"),
    *("role", "name", "id", "type", "model", "usage", "usage_metadata", "response_metadata", "metadata", "meta"),
    *("tool_call_id", "tool_results", "tool_call_chunks", "stop_reason", "timestamp", "created_at"),
    *("function_call", "reasoning_details", "provider_specific_fields", "cache_control", "signature", "summary"),
    *("annotations", "audio", "cost", "phase", "status", "output", "result", "agent", "title", "finish_reason"),
}


def left_over(message: dict[str, Any], read_pieces: list[Piece]) -> Iterator[Piece]:
    """What to say of keys that are not known and hold calls, or texts where the message has no content at all."""
    unknown = [key for key, value in message.items() if key not in _KNOWN and value and not isinstance(value, int)]
    if not unknown:
        return
    is_answer = message.get("role") in ("assistant", "model", None)
    has_text = any(piece.kind in ("text", "result") for piece in read_pieces)
    is_mute = is_answer and not has_text and all(message.get(key) is None for key in SAYING)
    is_bare = not read_pieces or not message.keys() & SAYING
    for key in unknown:
        value = message[key]
        if isinstance(value, dict | list) and is_callish(str(key)) and has_arguments(value, 0):
            yield Piece("unread", f"calls under {str(key)[:40]!r}, which is no known key, were left out")
        elif is_mute and (speaks(value) or (is_bare and _has_words(key, value))):
            yield Piece("unread", f"the message has no content; the value under {str(key)[:40]!r} was left out")


def _has_words(key: str, value: Any) -> bool:
    """Whether these are words, or parts with texts: a date and somebody's name are none."""
    if isinstance(value, list):
        return any(isinstance(part, dict) and text(part.get("text")) for part in value)
    has_words = isinstance(value, str) and (" " in value.strip() or _UNSPACED.search(value) is not None)
    return has_words and "name" not in key and not value.lstrip()[:1].isdigit()


def speaks(value: Any, depth: int = 0) -> bool:
    """Whether there is a sentence in it, or a call's arguments, a few steps down."""
    if isinstance(value, str):
        return (" " in value.strip() and len(value) >= _WORDS) or len(_UNSPACED.findall(value)) >= _SIGNS
    if depth > _STEPS:
        return False
    if isinstance(value, dict):
        return any((key in ARGUMENTS and inner) or speaks(inner, depth + 1) for key, inner in value.items())
    return isinstance(value, list) and any(speaks(inner, depth + 1) for inner in value[:_WORDS])
