"""What a chat message says, in any provider's dialect: texts, thinking, tool calls and results, with their places."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from webapp.dumps.values import as_list, first_text, text

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """One thing said. `path` leads to `text` in the entry where it stands there word for word.

    `name` is the tool's, `id` the call's, `call` a copy of the call; `failure` is what the dump itself notes of a
    call whose arguments could not be read. A piece that is `unread` says in `text` what was left out.
    """

    kind: Literal["text", "thinking", "call", "result", "unread"]
    text: str | None
    path: Path | None = None
    name: str | None = None
    id: str | None = None
    call: Any = None
    failure: str | None = None


_DEEPEST = 40
"""Steps into an entry; results within results further down are no messages, and would exhaust the call stack."""
_CALLS = (
    *("tool_use", "server_tool_use", "mcp_tool_use", "function_call", "custom_tool_call", "tool_call", "mcp_call"),
    "tool-call",
)
_RESULTS = ("tool_result", "function_call_output", "custom_tool_call_output", "tool_call_response", "tool-result")
_WRAPPED_CALLS = ("toolUse", "functionCall", "function_call", "tool_call", "executableCode", "executable_code")
_WRAPPED_RESULTS = (
    *("toolResult", "functionResponse", "function_response", "tool_call_result"),
    *("codeExecutionResult", "code_execution_result"),
)
_WORDS = 20
"""characters of a text with a space from which on a part that is not known is worth a word"""
_NO_WORDS = (
    *("image", "audio", "video", "file", "document", "cache", "redacted", "search", "citation", "code"),
    "step",
)
_THOUGHTS = ("thinking", "reasoning", "think")
_THINKING = ("reasoning_content", "reasoning", "thinking", "tool_plan")
"""where a message holds what was thought beside its content"""
_TEXTS = ("text", "content", "refusal", "output_text", "input_text")
_ARGUMENTS = ("arguments", "input", "args", "code")
_ANSWERS = ("content", "output", "response", "result")
_VALUES: dict[str, Literal["text", "thinking", "call", "result"]] = {
    "text": "text",
    "reasoning": "thinking",
    "tool_call": "call",
    "tool_result": "result",
}
_NAMES = ("id", "call_id", "toolUseId", "tool_call_id", "tool_use_id", "toolCallId")


def pieces(message: dict[str, Any], at: Path = ()) -> list[Piece]:
    """Everything a message says: its thinking, its content, then the calls that stand beside it."""
    parts = [Piece("thinking", message[key], (*at, key)) for key in _THINKING if text(message.get(key))]
    if not parts and isinstance(message.get("thinking_blocks"), list):  # LiteLLM's, which may repeat the text
        parts = content(message["thinking_blocks"], (*at, "thinking_blocks"))
    for key in ("content", "parts"):
        if message.get(key) is not None:
            parts.extend(content(message[key], (*at, key)))
    if text(message.get("refusal")):
        parts.append(Piece("text", message["refusal"], (*at, "refusal")))
    return _each_call_once(parts, list(_beside(message, at)))


def _each_call_once(parts: list[Piece], beside: list[Piece]) -> list[Piece]:
    """What the content says, then the calls beside it: LangChain has a call in both, and one that is a text counts."""
    within = {piece.id for piece in parts if piece.kind == "call" and piece.id is not None}
    written = {piece.id for piece in beside if piece.id in within and (piece.path is not None or piece.failure)}
    unwritten = [piece for piece in parts if piece.kind != "call" or piece.id is None or piece.id not in written]
    return [*unwritten, *(piece for piece in beside if piece.id not in within or piece.id in written)]


def content(value: Any, at: Path) -> list[Piece]:
    """What a message's content says: a text, a list of blocks, or an object with `parts`."""
    if isinstance(value, str):
        return [Piece("text", value, at)]
    if len(at) > _DEEPEST:
        return [Piece("text", as_json(value))]
    if isinstance(value, list):
        return [piece for index, inner in enumerate(value) for piece in block(inner, (*at, index))]
    if isinstance(value, dict) and isinstance(value.get("parts"), list):
        return content(value["parts"], (*at, "parts"))
    if isinstance(value, dict) and (parts := list(block(value, at))):
        return parts
    return [] if value is None else [Piece("text", as_json(value))]


def block(value: Any, at: Path) -> Iterator[Piece]:
    """What one content block says; nothing where it holds no text (an image, a redacted thought)."""
    if isinstance(value, str):
        yield Piece("text", value, at)
    if not isinstance(value, dict):
        return
    kind = value.get("type")
    if isinstance(value.get("value"), str) and isinstance(kind, str) and kind in _VALUES:  # LLaMA-Factory's
        yield _valued(value, _VALUES[kind], at)
        return
    wrapped = next((key for key in (*_WRAPPED_CALLS, *_WRAPPED_RESULTS) if isinstance(value.get(key), dict)), None)
    if wrapped is not None:
        reader = call if wrapped in _WRAPPED_CALLS else _result
        yield reader(value[wrapped], (*at, wrapped))
    elif kind in _THOUGHTS or value.get("thought") is True or "reasoningContent" in value:
        yield from _thought(value, at)
    elif kind in _CALLS or _is_function_call(value):
        yield call(value, at)
        if kind == "mcp_call" and isinstance(value.get("output"), str):
            yield _result({"output": value["output"], "name": value.get("name"), "id": value.get("id")}, at)
    elif kind in _RESULTS or (isinstance(kind, str) and kind.endswith("_tool_result")):
        yield _result(value, at)
    else:
        texts = [Piece("text", value[key], (*at, key)) for key in _TEXTS if isinstance(value.get(key), str)]
        yield from texts or _unread(value)


def _is_function_call(block: dict[str, Any]) -> bool:
    """A call among the blocks, as Koog has it; a tool's definition has parameters and no arguments."""
    function = block.get("function")
    return block.get("type") == "function" and isinstance(function, dict) and "arguments" in function


def _unread(block: dict[str, Any]) -> Iterator[Piece]:
    """What to say of a block that is called a text and holds none, or that speaks and whose kind is not known.

    Images and the like need no word.
    """
    kind = block.get("type")
    keys = ", ".join(repr(str(key)[:40]) for key in block)
    speaks = any(isinstance(value, str) and " " in value.strip() and len(value) >= _WORDS for value in block.values())
    if kind in ("text", "output_text", "input_text"):
        yield Piece("unread", f"a part of type {kind!r} without a text (its keys: {keys}); it was left out")
    elif speaks and not any(word in str(kind) for word in _NO_WORDS):
        yield Piece("unread", f"a part of an unknown kind (type {kind!r}, keys: {keys}); it was left out")


def _valued(block: dict[str, Any], kind: Literal["text", "thinking", "call", "result"], at: Path) -> Piece:
    call = {"arguments": block["value"]} if kind == "call" else None
    return Piece(kind, block["value"], (*at, "value"), None, None, call)


def _thought(block: dict[str, Any], at: Path) -> Iterator[Piece]:
    inner = block.get("reasoningContent")
    if isinstance(inner, dict) and isinstance(inner.get("reasoningText"), dict):
        block, at = inner["reasoningText"], (*at, "reasoningContent", "reasoningText")
    for key in ("thinking", "reasoning", "think", "text", "content"):
        if isinstance(block.get(key), str):
            yield Piece("thinking", block[key], (*at, key))
            return
        if isinstance(block.get(key), list):
            raw, path = joined(content(block[key], (*at, key)))
            if raw is not None:
                yield Piece("thinking", raw, path)
                return
    summary = block.get("summary")
    for index, part in enumerate(as_list(summary)):
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            yield Piece("thinking", part["text"], (*at, "summary", index, "text"))


def _beside(message: dict[str, Any], at: Path) -> Iterator[Piece]:
    """The calls beside the content: `tool_calls` (LangChain's as its provider sent them), `function_call`."""
    more = message.get("additional_kwargs")
    calls, path = message.get("tool_calls"), (*at, "tool_calls")
    if isinstance(more, dict) and isinstance(more.get("tool_calls"), list):
        calls, path = more["tool_calls"], (*at, "additional_kwargs", "tool_calls")
    invalid = [value for value in as_list(message.get("invalid_tool_calls")) if isinstance(value, dict)]
    errors = {_id(value, "id"): text(value.get("error")) or "invalid tool call" for value in invalid}
    written = set()
    for index, value in enumerate(as_list(calls)):
        if isinstance(value, dict) and ((piece := call(value, (*path, index))).name or piece.text is not None):
            written.add(piece.id)
            yield replace(piece, failure=piece.failure or errors.get(piece.id)) if piece.id in errors else piece
    for index, value in enumerate(invalid):  # LangChain's calls whose arguments it could not read
        piece = call(value, (*at, "invalid_tool_calls", index))
        if piece.id is None or piece.id not in written:
            yield replace(piece, failure=text(value.get("error")) or "invalid tool call")
    if isinstance(message.get("function_call"), dict):
        yield call(message["function_call"], (*at, "function_call"))


def call(value: dict[str, Any], at: Path) -> Piece:
    """A tool call: its arguments as the model wrote them where they are a text, else as JSON."""
    key = "custom" if isinstance(value.get("custom"), dict) else "function"
    function = value.get(key)
    inner, path = (function, (*at, key)) if isinstance(function, dict) else (value, at)
    name = first_text(inner, "name") or text(function) or first_text(inner, "tool_name", "toolName", "language")
    key = next((key for key in _ARGUMENTS if inner.get(key) is not None), "")
    arguments, where = text_or_json(inner.get(key), (*path, key))
    failure = text(value.get("parse_error"))
    return Piece("call", arguments, where, name, _id(value, "call_id"), _copied(value), failure)


def _result(value: dict[str, Any], at: Path) -> Piece:
    key = next((key for key in _ANSWERS if value.get(key) is not None), None)
    answer, path = (None, None) if key is None else joined(content(value[key], (*at, key)))
    return Piece("result", answer, path, first_text(value, "name", "toolName"), _id(value, "tool_use_id"))


def joined(parts: list[Piece]) -> tuple[str | None, Path | None]:
    """The texts as one, with its place where it is a single one."""
    texts = [piece for piece in parts if piece.kind == "text"]
    if len(texts) == 1:
        return texts[0].text, texts[0].path
    return ("".join(piece.text or "" for piece in texts) if texts else None), None


def as_json(value: Any) -> str:
    """Compact JSON, for what is no text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def text_or_json(value: Any, at: Path) -> tuple[str | None, Path | None]:
    """A text with its place, anything else as JSON; (None, None) for None."""
    if isinstance(value, str):
        return value, at
    return (None, None) if value is None else (as_json(value), None)


def _id(value: dict[str, Any], first: str) -> str | None:
    return next((value[key] for key in (first, *_NAMES) if text(value.get(key))), None)


def _copied(value: dict[str, Any]) -> dict[str, Any]:
    """Two levels deep, so that the entry's own text can be taken out of the entry."""
    return {key: dict(inner) if isinstance(inner, dict) else inner for key, inner in value.items()}
