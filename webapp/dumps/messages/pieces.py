"""What a chat message says, in any provider's dialect: texts, thinking, tool calls and results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

from webapp.dumps.messages.calls import (
    ARGUMENTS,
    arguments_of,
    beside,
    call_id,
    invocation_of,
    invoked,
    item_call,
)
from webapp.dumps.messages.calls import Piece as Piece
from webapp.dumps.messages.calls import as_json as as_json
from webapp.dumps.messages.calls import call as call
from webapp.dumps.messages.calls import text_or_json as text_or_json
from webapp.dumps.messages.printed import printed_block
from webapp.dumps.values import as_list, as_object, first_text, is_speech, text

CONTENTS = ("blocks", "items", "segments", "contentParts", "contents")
"""where messages without a content hold their blocks: LlamaIndex', Semantic Kernel's, Zed's, Chatbox', chatlas'"""
THINKING = ("reasoning_content", "reasoning", "thinking", "tool_plan")
"""where a message holds what was thought beside its content"""
SAYING = {"content", "parts", "refusal", *CONTENTS}
_STEPS, _MOST_ITEMS = 4, 20
_CALLS = (
    *("tool_use", "server_tool_use", "mcp_tool_use", "function_call", "custom_tool_call", "tool_call", "mcp_call"),
    *("tool-call", "tool-use", "tool_request"),
)
_RESULTS = (
    *("tool_result", "function_call_output", "custom_tool_call_output", "tool_call_response", "tool-result"),
    *("tool_output", "function_call_result", "function_result", "tool-error", "toolresult"),
)
_INSTEAD = ("text", "value", "message")
"""what messages without a content call it"""
_WRAPPED_CALLS = ("toolUse", "functionCall", "function_call", "tool_call", "executableCode", "executable_code")
_WRAPPED_RESULTS = (
    *("toolResult", "functionResponse", "function_response", "tool_call_result"),
    *("codeExecutionResult", "code_execution_result"),
)
_WRAPPED = (*_WRAPPED_CALLS, *_WRAPPED_RESULTS)
_NO_WORDS = (
    *("image", "audio", "video", "file", "document", "cache", "redacted", "search", "citation", "code"),
    *("step", "finish"),
)
_NO_TEXTS = (
    *("id", "Id", "ID", "url", "uri", "name", "ignature", "data", "ime", "role", "status", "title", "stamp", "_at"),
    "reason",
)
"""how keys end whose texts are nothing that was said"""
_THOUGHTS = ("thinking", "reasoning", "think", "thought")
_TEXTS = ("text", "content", "refusal", "output_text", "input_text", "transcript")
_TEXT_KINDS = (
    *(None, "text", "output_text", "input_text", "refusal", "content", "markdown", "message", "multimodal_text"),
    *("code", "summary_text", "text_delta", "ai", "string", "paragraph", "md"),
)
_ALONE = ("answer", "text", "content", "output", "response", "message", "reply", "completion", "result", "value")
"""under which the text of a content stands that is an object of nothing else"""
_ANSWERS = ("content", "output", "response", "result")
_ABOUT_RESULTS = {
    *("type", "id", "name", "toolName", "is_error", "cache_control", "status", "server_label", "run"),
    *("tool_use_id", "toolUseId", "toolUseID", "call_id", "tool_call_id", "toolCallId", "toolId"),
}
_VALUES: dict[str, Literal["text", "thinking", "call", "result"]] = {
    "text": "text",
    "reasoning": "thinking",
    "tool_call": "call",
    "tool_result": "result",
}


def pieces(message: dict[str, Any]) -> list[Piece]:
    """Everything a message says: its thinking, its content, then the calls that stand beside it."""
    parts = [Piece("thinking", message[key]) for key in THINKING if text(message.get(key))]
    if not parts and isinstance(message.get("thinking_blocks"), list):  # LiteLLM's, which may repeat the text
        parts = content(message["thinking_blocks"])
    for key in ("content", "parts"):
        inner = message.get(key)
        if isinstance(inner, dict) and len(inner) == 1 and (only := next(iter(inner))) in _ALONE and text(inner[only]):
            parts.append(Piece("text", inner[only]))
        elif inner is not None:
            parts.extend(content(inner))
    for key in CONTENTS if not parts else ():
        if isinstance(message.get(key), dict | list):
            parts.extend(content(message[key]))
    if "role" in message and not parts and not message.keys() & SAYING:
        instead = next((key for key in _INSTEAD if text(message.get(key))), None)
        parts.extend(content(message[instead]) if instead is not None else ())
    if not parts and isinstance(spoken := message.get("audio"), dict) and text(spoken.get("transcript")):
        parts.append(Piece("text", spoken["transcript"]))
    if text(message.get("refusal")):
        parts.append(Piece("text", message["refusal"]))
    calls = list(beside(message))
    return _each_call_once(parts, calls) if calls else parts


def _each_call_once(parts: list[Piece], beside: list[Piece]) -> list[Piece]:
    """What the content says, then the calls beside it: LangChain has a call in both, and one that is a text counts."""
    within = {piece.id for piece in parts if piece.kind == "call" and piece.id is not None}
    texts = (piece for piece in beside if piece.text is not None and arguments_of(piece) != "decoded")
    written = {piece.id for piece in (*texts, *(piece for piece in beside if piece.failure)) if piece.id in within}
    unwritten = [piece for piece in parts if piece.kind != "call" or piece.id is None or piece.id not in written]
    return [*unwritten, *(piece for piece in beside if piece.id not in within or piece.id in written)]


def content(value: Any) -> list[Piece]:
    """What a message's content says: a text, a list of blocks, or an object with `parts`."""
    if isinstance(value, str):
        return [Piece("text", value)]
    if isinstance(value, list):
        return _of_kinds([piece for inner in value for piece in _item(inner)])
    if isinstance(value, dict) and isinstance(value.get("parts"), list):
        return content(value["parts"])
    if (
        isinstance(value, dict)
        and (parts := list(block(value)))
        and ("type" in value or any(piece.kind != "unread" for piece in parts))
    ):
        return parts
    return [] if value is None else [Piece("text", as_json(value))]


def _of_kinds(parts: list[Piece]) -> list[Piece]:
    """The parts of a content: the text of one that is no text by its kind is none, where others are texts."""
    if not any(piece.kind == "text" and piece.name is None for piece in parts):
        return parts
    return [replace(piece, kind="other") if piece.kind == "text" and piece.name else piece for piece in parts]


def _item(value: Any) -> list[Piece]:
    """As `block`, of one in a list; one that does not say its kind may hold a text, however short, by another name."""
    parts = list(block(value))
    if parts or not isinstance(value, dict) or "type" in value:
        return parts
    key = next((str(key) for key, inner in value.items() if text(inner) and not str(key).endswith(_NO_TEXTS)), None)
    if key is None or any(word in str(key).lower() for key in value for word in (*_NO_WORDS, "inline", "media")):
        return parts
    return [Piece("unread", f"a part with a text under {key[:40]!r}, which is no known key; it was left out")]


def block(value: Any) -> Iterator[Piece]:
    """What one content block says; nothing where it holds no text (an image, a redacted thought)."""
    if isinstance(value, str) and (printed := printed_block(value)) is not None:
        yield from block(printed)
    elif isinstance(value, str):
        yield Piece("text", value)
    if isinstance(value, list) and (speaks(value) or any(text(as_object(part).get("text")) for part in value)):
        yield Piece("unread", "a list where a part of a message should be; it was left out")
    if not isinstance(value, dict):
        return
    kind = value.get("type") or value.get("block_type") or value.get("content_type")  # LlamaIndex, Semantic Kernel
    if isinstance(value.get("value"), str) and isinstance(kind, str) and kind in _VALUES:  # LLaMA-Factory's
        spoken = value["value"]
        yield Piece(_VALUES[kind], spoken, call={"arguments": spoken} if kind == "tool_call" else None)
        return
    wrapped = next((key for key in _WRAPPED if key in value and isinstance(value[key], dict)), None)
    is_untyped_result = "type" not in value and isinstance(value.get("tool_use_id"), str)  # Claude's Agent SDK's
    if kind == "toolRequest" or kind == "toolResponse":
        yield from _goose(value)
    elif wrapped is not None:
        inner = value[wrapped]
        yield (piece := (call if wrapped in _WRAPPED_CALLS else _result)(inner))
        if wrapped == "tool_call" and isinstance(inner.get("output"), str) and inner["output"]:  # LibreChat's
            yield Piece("result", inner["output"], piece.name, piece.id)
    elif kind in _THOUGHTS or value.get("thought") is True or "reasoningContent" in value:
        yield from _thought(value)
    elif kind in _CALLS or _is_function_call(value) or (kind is None and value.keys() >= {"id", "name", "input"}):
        yield (piece := call(value))
        if kind == "mcp_call" and isinstance(value.get("output"), str):
            yield _result({"output": value["output"], "name": value.get("name"), "id": value.get("id")})
        elif kind == "tool-call" and value.get("result") is not None:  # Chatbox's
            yield Piece.of_result(value["result"], piece.name, piece.id)
    elif kind in _RESULTS or (isinstance(kind, str) and kind.endswith("_tool_result")) or is_untyped_result:
        yield _result(value)
    elif isinstance(kind, str) and kind.endswith("_call"):
        yield from item_call(value)
    elif (invocation := invocation_of(value)) is not None:
        yield from invoked(invocation)
    else:
        kind_ = kind if isinstance(kind, str) and kind not in _TEXT_KINDS else None
        texts = [Piece("text", value[key], kind_) for key in _TEXTS if isinstance(value.get(key), str)]
        inner = as_object(value.get("text") or value.get("citationsContent"))
        if isinstance(inner.get("value"), str) or isinstance(inner.get("content"), list):  # OpenAI's Assistants, Amazon
            texts = content(inner.get("value", inner.get("content")))
        yield from texts or _unread(value, kind)


def _is_function_call(block: dict[str, Any]) -> bool:
    """A call among the blocks, as Koog and rig have it; a tool's definition has parameters and no arguments."""
    function = block.get("function")
    return block.get("type") in ("function", None) and isinstance(function, dict) and "arguments" in function


def _goose(block: dict[str, Any]) -> Iterator[Piece]:
    """Goose's blocks, whose call or result stands within what became of it; a call that could not be read failed."""
    key = "toolCall" if block.get("type") == "toolRequest" else "toolResult"
    outcome = as_object(block.get(key))
    inner, error = outcome.get("value"), text(outcome.get("error"))
    if key == "toolResult":
        answer = {"content": inner.get("content") if isinstance(inner, dict) else inner if error is None else error}
        yield _result({**answer, "id": block.get("id")})
        return
    piece = call(as_object(inner))
    yield replace(piece, id=piece.id or text(block.get("id")), call=block, failure=error)


def _unread(block: dict[str, Any], kind: Any) -> Iterator[Piece]:
    """What to say of a block that is called a text and holds none, or that speaks and whose kind is not known.

    Images and the like need no word.
    """
    keys = ", ".join(repr(str(key)[:40]) for key in block)
    if kind in ("text", "output_text", "input_text") or (kind is None and block.get("text")):
        yield Piece("unread", f"a part of type {kind!r} without a text (its keys: {keys}); it was left out")
    elif not any(word in str(kind) for word in _NO_WORDS) and (
        speaks(block) or (kind is not None and _has_word(block))
    ):
        yield Piece("unread", f"a part of an unknown kind (type {kind!r}, keys: {keys}); it was left out")


def _has_word(block: dict[str, Any]) -> bool:
    """Whether a part has a text of its own, however short, in any script."""
    values = (inner for key, inner in block.items() if key != "type" and not str(key).endswith(_NO_TEXTS))
    return any(isinstance(inner, str) and any(map(str.isalpha, inner)) for inner in values)


def speaks(value: Any, depth: int = 0) -> bool:
    """Whether there is a text in it that speaks, or a call's arguments, a few steps down."""
    if isinstance(value, str):
        return is_speech(value)
    if depth > _STEPS:
        return False
    if isinstance(value, dict):
        return any((key in ARGUMENTS and inner) or speaks(inner, depth + 1) for key, inner in value.items())
    return isinstance(value, list) and any(speaks(inner, depth + 1) for inner in value[:_MOST_ITEMS])


def _thought(block: dict[str, Any]) -> Iterator[Piece]:
    inner = block.get("reasoningContent")
    if isinstance(inner, dict) and isinstance(inner.get("reasoningText"), dict):
        block = inner["reasoningText"]
    for key in ("thinking", "reasoning", "think", "text", "content"):
        if isinstance(block.get(key), str):
            yield Piece("thinking", block[key])
            return
        if isinstance(block.get(key), list):
            raw = joined(content(block[key]))
            if raw is not None:
                yield Piece("thinking", raw)
                return
    for part in as_list(block.get("summary")):
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            yield Piece("thinking", part["text"])


def _result(value: dict[str, Any]) -> Piece:
    value = {**value, **as_object(value.get("run"))}  # Amp's
    if value.get("type") == "tool-error":  # the Vercel SDK's, beside the call's input
        value = {**value, "output": value.get("error")}
    key = next((key for key in _ANSWERS if value.get(key) is not None), None)
    answer = None if key is None else joined(content(value[key]))
    if answer is None:  # a shape of its own, as of Amp's errors; what images there are needs no text
        rest = {name: inner for name, inner in value.items() if name not in _ABOUT_RESULTS and inner is not None}
        answer = as_json(rest) if _says_anything(rest) else None
    ident = call_id(value, "tool_use_id" if "tool_use_id" in value else "call_id")
    failed = value.get("type") == "tool-error" or value.get("status") == "error"
    is_error = failed or (value["is_error"] if isinstance(value.get("is_error"), bool) else None)
    return Piece("result", answer, first_text(value, "name", "toolName"), ident, is_error=is_error)


def _says_anything(value: Any) -> bool:
    """Whether there is a text in it that is no file."""
    if isinstance(value, dict):
        return "data" not in value and "image_url" not in value and any(map(_says_anything, value.values()))
    return any(map(_says_anything, value)) if isinstance(value, list) else isinstance(value, str) and bool(value)


def joined(parts: list[Piece]) -> str | None:
    """The texts as one; None where there is none."""
    texts = [piece.text for piece in parts if piece.kind == "text"]
    return texts[0] if len(texts) == 1 else "".join(written or "" for written in texts) if texts else None


def said_item(item: dict[str, Any]) -> list[Piece]:
    """An output item of the Responses API: a message, a call, or a thought."""
    if "role" in item and item.get("type") == "message" and not isinstance(item.get("content"), str | list):
        return [*pieces(item), Piece("unread", "a message without a content")]
    if item.get("type") == "message" and "role" not in item:
        return [*pieces({**item, "role": None}), Piece("unread", "a message that does not say whose it is")]
    if "role" not in item and not isinstance(item.get("type"), str) and len(item) > 1:
        return list(block(item)) or [Piece("unread", "an item that does not say what it is; it was left out")]
    return pieces(item) if "role" in item else list(block(item))
