"""LangChain's messages, in lists, lines and databases, its events, and the updates of LangGraph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entry
from webapp.dumps.declared import Declared
from webapp.dumps.declared_rules import Declaring
from webapp.dumps.documents import joined_runs
from webapp.dumps.messages.exchanges import exchange, logged_message
from webapp.dumps.messages.langchain import generations_body, is_chunk, is_message, unwrapped
from webapp.dumps.messages.pieces import content, joined, text_or_json
from webapp.dumps.messages.printed import unprinted
from webapp.dumps.messages.streams import put_together
from webapp.dumps.messages.turns import error_turns, event_turns, result_turns, text_turns
from webapp.dumps.records import Problem, Turn
from webapp.dumps.values import as_list, as_object, first_text, id_text, text

IDS = ("session_id", "thread_id", "id")
_DUMPED = {"data", "lc", "additional_kwargs", "response_metadata"}
"""what only messages of LangChain's have, `model_dump`'s too"""
_TABLE = "message_store"
"""of SQLChatMessageHistory"""


class LangChain(Declared):
    def sniff(self, head: DumpHead) -> int:
        if head.shape == "sqlite":
            return 90 if _TABLE in head.names else 0
        if head.objects and all(is_conversation(item) for item in head.objects) and head.shape != "object":
            return 75
        messages = (
            head.items.get("messages", []) if head.shape == "object" and "messages" in head.keys else head.objects
        )
        if not messages or not all(map(is_message, messages)):
            return 0
        if head.shape != "object" and all(_DUMPED & message.keys() for message in messages):
            return 88
        return 75 if all("data" in message or "lc" in message for message in messages) else 15

    def arranged(self, entries: Iterable[Entry | Problem]) -> Iterable[Entry | Problem]:
        return joined_runs(entries, is_chunk, "chunks", lambda chunk: unwrapped(chunk).get("id"))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
        if isinstance(entry.get("chunks"), list):
            entry = _of_chunks(entry["chunks"])
        return logged_message(unwrapped(entry), conversation)


def is_conversation(value: dict[str, Any]) -> bool:
    messages = as_list(value.get("messages"))
    return bool(messages) and all(is_message(item) and ("data" in item or "lc" in item) for item in messages)


def _of_chunks(chunks: list[Any]) -> dict[str, Any]:
    """The message that its chunks say, by what chunks of OpenAI's API would."""
    message, same = dict[str, Any](), list[dict[str, Any]]()
    for value in map(unwrapped, chunks):
        message |= {key: inner for key, inner in value.items() if inner}
        parts = map(as_object, as_list(value.get("tool_call_chunks")))
        calls = [{**part, "function": {"name": part.get("name"), "arguments": part.get("args")}} for part in parts]
        delta = {"content": joined(content(value.get("content"))), "tool_calls": calls}
        same.append({"choices": [{"delta": delta}]})
    said = put_together(same)["choices"][0]["message"]
    whole = {key: inner for key, inner in message.items() if key not in ("tool_call_chunks", "invalid_tool_calls")}
    calls = said.get("tool_calls") or whole.get("tool_calls") or []
    return {**whole, "type": "ai", "content": said.get("content", ""), "tool_calls": calls}


_MODELS = ("on_chat_model", "on_llm")


class LangChainEvents(Declared):
    def sniff(self, head: DumpHead) -> int:
        if head.shape not in ("lines", "array"):
            return 0
        if head.all_have("event", "run_id") and all(str(item["event"]).startswith("on_") for item in head.objects):
            return 92
        return 70 if head.objects and all(map(_is_update, head.objects)) else 0

    def read_entry(self, entry: dict[str, Any], conversation: Declaring) -> list[Turn]:
        if "event" not in entry:
            messages = (value for update in entry.values() for value in as_list(as_object(update).get("messages")))
            return [turn for value in messages for turn in logged_message(unwrapped(as_object(value)), conversation)]
        kind, run = str(entry.get("event")), str(id_text(entry.get("run_id")))
        data = as_object(entry.get("data")) or _of_callback(entry)
        conversation.model = first_text(as_object(entry.get("metadata")), "ls_model_name") or conversation.model
        turns: list[Turn] = []
        if kind.startswith(_MODELS):
            turns = _of_model(kind.rpartition("_")[2], run, data, conversation)
        elif kind == "on_tool_end":
            turns = _result(data.get("output"), text(entry.get("name")), conversation)
        if kind.endswith("_error"):
            turns += error_turns(text_or_json(data.get("error")), kind)
        return turns or event_turns(kind)


def _of_callback(entry: dict[str, Any]) -> dict[str, Any]:
    """What a handler of one's own writes down of what it is given, as events have it."""
    asked = {key: entry[key] for key in ("messages", "prompts") if key in entry}
    return {"input": asked, "output": entry.get("response", entry.get("output"))}


def _is_update(value: dict[str, Any]) -> bool:
    """What a node of a graph gave: {"agent": {"messages": […]}}."""
    message_lists = [as_list(as_object(inner).get("messages")) for inner in value.values()]
    return len(value) == 1 and bool(message_lists[0]) and all(map(is_message, message_lists[0]))


def _of_model(part: str, run: str, data: dict[str, Any], conversation: Declaring) -> list[Turn]:
    """A model's run: what it is asked, the pieces of its answer, and the answer as it ends."""
    if part == "start":
        return exchange(as_object(data.get("input")), None, conversation)
    if part == "stream":
        chunk = data.get("chunk")
        piece = chunk if isinstance(chunk, str) else unwrapped(as_object(chunk)).get("content")
        conversation.begun.setdefault(run, []).append(joined(content(piece)) or "")
        return event_turns("stream")
    parts = conversation.begun.pop(run, [])
    output = data.get("output")
    output = (unprinted(output) or output) if isinstance(output, str) else output
    if part == "end" and isinstance(output, dict):
        return exchange(None, generations_body(output if "generations" in output else {"output": output}), conversation)
    raw = output if isinstance(output, str) else "".join(parts)
    if not raw and part == "end":
        conversation.notes.append("an answer of which nothing is known")
    return text_turns(raw, "assistant", conversation) if raw else []


def _result(output: Any, name: str | None, conversation: Conversation) -> list[Turn]:
    output = (unprinted(output) or output) if isinstance(output, str) else output
    if isinstance(output, dict) and is_message(output):
        return logged_message(unwrapped(output), conversation)
    return [] if output is None else result_turns(output, conversation, name)


plugins = (LangChain("langchain"), LangChainEvents("langchain_events"))
