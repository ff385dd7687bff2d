"""What `codex exec --json` prints: a thread's items one a line, each again as it grows; the completed count."""

from __future__ import annotations

from typing import Any, Literal

from webapp.dumps.base import NATIVE, Conversation, DumpHead, Format, PlacedTurn
from webapp.dumps.messages.pieces import Path, Piece, content, joined, text_or_json
from webapp.dumps.messages.turn_values import with_usage
from webapp.dumps.messages.turns import error_turns, event_turns, note_unknown_kind, result_turns, text_turns, turns_of
from webapp.dumps.values import as_object, id_text, text

_ITEMS = ("item.started", "item.updated", "item.completed")
_TURNS = ("turn.started", "turn.completed", "turn.failed")
_OLDER_TEXTS: dict[str, Literal["text", "thinking"]] = {"agent_message": "text", "agent_reasoning": "thinking"}
_OLDER = ("task_started", "session_configured", *_OLDER_TEXTS, "exec_command_begin", "task_complete")
_WITHOUT_TEXT = ("file_change", "web_search", "todo_list", "collab_tool_call", "plan_update", "patch_apply")
_TEXTS: dict[str, Literal["text", "thinking"]] = {
    "agent_message": "text",
    "assistant_message": "text",
    "reasoning": "thinking",
}


class CodexExec(Format):
    home = NATIVE
    shapes = 'Codex exec --json {"type": "item.completed", "item": {…}} one a line'

    def sniff(self, head: DumpHead) -> int:
        return 95 if head.shape in ("lines", "object", "array") and any(map(_is_line, head.objects)) else 0

    def session_of(self, entry: dict[str, Any]) -> str | None:
        return id_text(entry.get("thread_id")) if entry.get("type") == "thread.started" else None

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        if isinstance(entry.get("msg"), dict):
            return _older(entry["msg"], conversation)
        if text(entry.get("prompt")):  # the older form begins with it
            return text_turns(entry["prompt"], ("prompt",), "user", conversation)
        kind, item = text(entry.get("type")), entry.get("item")
        if kind == "item.completed" and isinstance(item, dict):
            return _item(item, conversation)
        if kind == "item.completed":
            conversation.notes.append("a completed item that is no object; it was left out")
        if kind in ("turn.failed", "error"):
            at: Path = ("error", "message") if "error" in entry else ("message",)
            return error_turns(text_or_json(as_object(entry.get("error", entry)).get("message"), ())[0], kind, at)
        if kind not in (*_ITEMS, *_TURNS, "thread.started") and "provider" not in entry:  # the older form's first
            note_unknown_kind(kind, conversation)
        return with_usage(event_turns(kind), entry.get("usage"))


plugin = CodexExec()


def _is_line(value: dict[str, Any]) -> bool:
    if "id" in value and as_object(value.get("msg")).get("type") in _OLDER:
        return True
    kind = value.get("type")
    if kind in _ITEMS:
        return isinstance(value.get("item"), dict)
    return kind in _TURNS or (kind == "thread.started" and "thread_id" in value)


def _older(event: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
    """An event of the older form {"id", "msg"}."""
    kind, ident = text(event.get("type")) or "", text(event.get("call_id"))
    key = next((key for key in ("message", "text") if isinstance(event.get(key), str)), "message")
    raw, at = text(event.get(key)), ("msg", key)
    if kind in _OLDER_TEXTS and raw is not None:
        return turns_of([Piece(_OLDER_TEXTS[kind], raw, at)], "assistant", conversation)
    if kind in ("exec_command_begin", "mcp_tool_call_begin", "patch_apply_begin"):
        invocation = as_object(event.get("invocation"))
        arguments = event.get("command", invocation.get("arguments", event.get("changes")))
        name = text(invocation.get("tool")) or kind.removesuffix("_begin")
        call = {"id": ident, "name": name, "arguments": arguments}
        return turns_of([Piece.of_call(arguments, (), name, ident, call)], "assistant", conversation)
    if kind in ("exec_command_end", "mcp_tool_call_end", "patch_apply_end"):
        output = event.get("aggregated_output") or event.get("stdout") or event.get("stderr") or event.get("result")
        return result_turns(output, (), conversation, None, ident)
    if kind in ("error", "stream_error"):
        return error_turns(raw, kind, at if raw else None)
    if kind == "agent_message":
        conversation.notes.append("a message without a readable text")
    conversation.model = text(event.get("model")) or conversation.model
    usage = as_object(event.get("info")).get("last_token_usage", event) if kind == "token_count" else {}
    return with_usage(event_turns(kind or None), usage)


def _item(item: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
    kind, ident = text(item.get("type") or item.get("item_type")) or "", text(item.get("id"))
    if kind in _TEXTS:
        raw = item.get("text") if isinstance(item.get("text"), str) else None
        return turns_of([Piece(_TEXTS[kind], raw, ("item", "text"))], "assistant", conversation)
    if kind == "command_execution":
        call = {"id": ident, "name": "shell", "command": item.get("command"), "exit_code": item.get("exit_code")}
        command = Piece("call", text(item.get("command")), ("item", "command"), "shell", ident, call)
        output = Piece("result", text(item.get("aggregated_output")), ("item", "aggregated_output"), "shell", ident)
        return turns_of([command, output], "assistant", conversation)
    if kind == "mcp_tool_call":
        return _tool(item, ident, conversation)
    if kind == "error":
        return error_turns(text(item.get("message")), kind, ("item", "message"))
    if kind not in _WITHOUT_TEXT:
        note_unknown_kind(kind, conversation)
    return event_turns(kind or None)


def _tool(item: dict[str, Any], ident: str | None, conversation: Conversation) -> list[PlacedTurn]:
    name = ".".join(part for key in ("server", "tool") if (part := text(item.get(key)))) or None
    call = {"id": ident, "name": name, "arguments": item.get("arguments")}
    piece = Piece.of_call(item.get("arguments"), ("item", "arguments"), name, ident, call)
    turns = turns_of([piece], "assistant", conversation)
    result, error = item.get("result"), item.get("error")
    answer = as_object(result).get("content", result) if error is None else as_object(error).get("message", error)
    if answer is not None:
        turns += result_turns(joined(content(answer, ()))[0], (), conversation, name, ident)
    return turns
