"""LangChain's events (`astream_events`) and LangGraph's updates (`stream_mode="updates"`), one a line or a list."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format
from webapp.dumps.messages.bodies import exchange
from webapp.dumps.messages.langchain import generations_body, is_message, unwrapped
from webapp.dumps.messages.pieces import content, joined, text_or_json
from webapp.dumps.messages.turn_values import spent
from webapp.dumps.messages.turns import error_turns, event_turns, message_turns, result_turns, text_turns
from webapp.dumps.records import Turn
from webapp.dumps.values import as_list, as_object, first_text, id_text, text

_MODELS = ("on_chat_model", "on_llm")


@dataclass(slots=True)
class _Events(Conversation):
    parts: dict[str, list[str]] = field(default_factory=dict)
    """what came of each run's answer, until it ends"""

    def unfinished(self) -> str | None:
        raw = "".join(part for parts in self.parts.values() for part in parts)
        return f"the events end within an answer; of it no more came than {raw[:200]!r}" if raw else None


class LangChainEvents(Format):
    shapes = 'LangChain (astream_events) {"event": "on_chat_model_end", "data", "run_id"}, or LangGraph\'s updates'
    session_field = None
    conversation_type = _Events

    def sniff(self, head: DumpHead) -> int:
        if head.shape not in ("lines", "array"):
            return 0
        if head.all_have("event", "run_id") and all(str(item["event"]).startswith("on_") for item in head.objects):
            return 92
        return 70 if head.objects and all(map(_is_update, head.objects)) else 0

    def read_entry(self, entry: dict[str, Any], conversation: _Events) -> list[Turn]:
        if "event" not in entry:
            return _updated(entry, conversation)
        kind, run = str(entry.get("event")), str(id_text(entry.get("run_id")))
        data = as_object(entry.get("data"))
        conversation.model = first_text(as_object(entry.get("metadata")), "ls_model_name") or conversation.model
        turns: list[Turn] = []
        if kind.startswith(_MODELS):
            turns = _of_model(kind.rpartition("_")[2], run, data, conversation)
        elif kind == "on_tool_end":
            turns = _result(data.get("output"), text(entry.get("name")), conversation)
        if kind.endswith("_error"):
            turns += error_turns(text_or_json(data.get("error")), kind)
        return turns or event_turns(kind)


plugin = LangChainEvents()


def _is_update(value: dict[str, Any]) -> bool:
    """What a node of a graph gave: {"agent": {"messages": […]}}."""
    message_lists = [as_list(as_object(inner).get("messages")) for inner in value.values()]
    return len(value) == 1 and bool(message_lists[0]) and all(map(is_message, message_lists[0]))


def _updated(entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
    messages = (value for update in entry.values() for value in as_list(as_object(update).get("messages")))
    return [turn for value in messages for turn in _message(value, conversation)]


def _message(value: Any, conversation: Conversation) -> list[Turn]:
    message = unwrapped(as_object(value))
    model = first_text(as_object(message.get("response_metadata")), "model_name", "model")
    return message_turns(message, conversation, once=spent(message.get("usage_metadata")), model=model)


def _of_model(part: str, run: str, data: dict[str, Any], conversation: _Events) -> list[Turn]:
    """A model's run: what it is asked, the pieces of its answer, and the answer as it ends."""
    if part == "start":
        return exchange(_asked(as_object(data.get("input"))), None, conversation)
    if part == "stream":
        chunk = data.get("chunk")
        piece = chunk if isinstance(chunk, str) else unwrapped(as_object(chunk)).get("content")
        conversation.parts.setdefault(run, []).append(joined(content(piece)) or "")
        return event_turns("stream")
    parts = conversation.parts.pop(run, [])
    output = data.get("output")
    if part == "end" and isinstance(output, dict) and isinstance(output.get("generations"), list):
        return exchange(None, generations_body(output), conversation)
    if part == "end" and isinstance(output, dict):
        return _message(output, conversation)
    raw = output if isinstance(output, str) else "".join(parts)
    if not raw and part == "end":
        conversation.notes.append("an answer of which nothing is known")
    return text_turns(raw, "assistant", conversation) if raw else []


def _asked(value: dict[str, Any]) -> dict[str, Any]:
    """The messages of a run's input, which lists them once for each prompt."""
    batches = as_list(value.get("messages"))
    listed = [item for batch in batches for item in (batch if isinstance(batch, list) else [batch])]
    messages = [unwrapped(item) for item in listed if isinstance(item, dict)]
    return {"messages": messages, "prompt": value.get("prompts")}


def _result(output: Any, name: str | None, conversation: Conversation) -> list[Turn]:
    if isinstance(output, dict) and is_message(output):
        return _message(output, conversation)
    return [] if output is None else result_turns(output, conversation, name)
