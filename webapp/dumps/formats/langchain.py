"""LangChain's messages as a list, one a line, or under "messages": `messages_to_dict`, `dumpd`, `model_dump`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entries, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.decoding import json_or_none
from webapp.dumps.documents import entry_or_problem, joined_runs, whole_document
from webapp.dumps.messages.bodies import exchange
from webapp.dumps.messages.langchain import generations_body, is_chunk, is_message, unwrapped
from webapp.dumps.messages.pieces import content, joined
from webapp.dumps.messages.turns import message_turns, spent
from webapp.dumps.sessions import document_session, each_list, entries_of, grouped
from webapp.dumps.sqlite_tables import opened_tables
from webapp.dumps.values import as_list, as_object, first_text, id_text

_IDS = ("session_id", "thread_id", "id")
_DUMPED = {"data", "lc", "additional_kwargs", "response_metadata"}
"""what only messages of LangChain's have, `model_dump`'s too"""
_TABLE = "message_store"
"""of SQLChatMessageHistory"""


class LangChain(Format):
    shapes = 'LangChain\'s messages [{"type": "ai", "data": {…}}] or [{"lc": 1, "type": "constructor", …}]'

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "object" and "generations" in head.items and "llm_output" in head.keys:
            return 60
        if head.shape == "sqlite":
            return 90 if _TABLE in head.names else 0
        if head.objects and all(_is_conversation(item) for item in head.objects) and head.shape != "object":
            return 75
        messages = head.items.get("messages", []) if _has_messages(head) else head.objects
        if not messages or not all(map(is_message, messages)):
            return 0
        if head.shape != "object" and all(_DUMPED & message.keys() for message in messages):
            return 88
        return 75 if all("data" in message or "lc" in message for message in messages) else 15

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.shape == "object" and ("generations" in head.items or not _has_messages(head)):
            yield SessionEntries(source.stem, whole_document(source))
        elif head.shape == "sqlite":
            yield from _stored(source)
        elif any(map(_is_conversation, head.objects)) and head.shape != "object":
            yield from each_list(source, head, "messages", ids=_IDS)
        elif head.shape == "object":
            yield document_session(source, head, "messages", needed="messages", ids=_IDS)
        elif head.any_has("session_id"):
            yield from grouped(source, head, self.session_of)
        else:
            entries = entries_of(source, head)
            runs = joined_runs(entries, is_chunk, "chunks", lambda chunk: unwrapped(chunk)[0].get("id"))
            yield SessionEntries(source.stem, runs)

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        if isinstance(entry.get("generations"), list):
            return exchange({}, generations_body(entry), (), (), conversation)
        if isinstance(entry.get("chunks"), list):
            entry = _of_chunks(entry["chunks"])
        message, at = unwrapped(entry)
        model = first_text(as_object(message.get("response_metadata")), "model_name", "model")
        usage = message.get("usage_metadata") or as_object(message.get("response_metadata")).get("token_usage")
        return message_turns(message, conversation, at, once=spent(usage), model=model)


plugin = LangChain()


def _has_messages(head: DumpHead) -> bool:
    return head.shape == "object" and "messages" in head.keys


def _is_conversation(value: dict[str, Any]) -> bool:
    messages = as_list(value.get("messages"))
    return bool(messages) and all(is_message(item) and ("data" in item or "lc" in item) for item in messages)


def _stored(source: Source) -> Iterator[SessionEntries]:
    """The histories that LangChain keeps in SQL: a row a message."""
    with opened_tables(source) as tables:
        rows = tables.rows(_TABLE, "session_id", "id")
        for ident, messages in groupby(rows, lambda row: id_text(row.get("session_id")) or source.stem):
            yield SessionEntries(ident, _rows(messages))


def _rows(rows: Iterable[dict[str, Any]]) -> Entries:
    for row in rows:
        message = row.get("message")
        yield entry_or_problem(f"row {row.get('id')}", json_or_none(message) if isinstance(message, str) else None)


def _of_chunks(chunks: list[Any]) -> dict[str, Any]:
    """The message that its chunks say: texts and the texts of calls, one behind the other."""
    chunk_text, calls, message = "", dict[Any, dict[str, Any]](), dict[str, Any]()
    for chunk in chunks:
        value, _ = unwrapped(chunk)
        message |= {key: inner for key, inner in value.items() if inner}
        chunk_text += joined(content(value.get("content"), ()))[0] or ""
        for part in as_list(value.get("tool_call_chunks")):
            if isinstance(part, dict):
                call = calls.setdefault(part.get("index"), {"id": None, "name": None, "args": ""})
                call["id"], call["name"] = call["id"] or part.get("id"), call["name"] or part.get("name")
                call["args"] += part.get("args") or ""
    listed = [
        {"id": call["id"], "function": {"name": call["name"], "arguments": call["args"]}} for call in calls.values()
    ]
    whole = {key: inner for key, inner in message.items() if key not in ("tool_call_chunks", "invalid_tool_calls")}
    return {**whole, "type": "ai", "content": chunk_text, "tool_calls": listed or whole.get("tool_calls") or []}
