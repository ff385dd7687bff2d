"""Open WebUI: its export and database, trees with the answers of several models, and chats saved as plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entries, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.branches import BranchedConversation, tree_entries
from webapp.dumps.decoding import json_or_none
from webapp.dumps.documents import Entry
from webapp.dumps.messages.turns import each_filled, error_turns, message_turns, spent, text_turns
from webapp.dumps.records import Problem
from webapp.dumps.sessions import each_session, entries_of
from webapp.dumps.sqlite_tables import opened_tables, plain
from webapp.dumps.values import as_list, as_object, first_text, id_text, text


class OpenWebUi(Format):
    shapes = 'Open WebUI\'s export [{"id", "chat": {"history": {"messages": {…}}}}]'
    conversation_type = BranchedConversation
    times = ("timestamp",)

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "sqlite":
            return 90 if {"chat", "user", "auth"} <= set(head.names) else 0
        return 95 if head.objects and all(map(_is_chat, head.objects)) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        entries = _of_database(source) if head.shape == "sqlite" else entries_of(source, head)
        yield from each_session(entries, source.stem, _session)

    def read_entry(self, entry: dict[str, Any], conversation: BranchedConversation) -> list[PlacedTurn]:
        parent = id_text(entry.get("parentId"))
        branch = conversation.branch(id_text(entry.get("id")), parent)
        error = first_text(entry.get("error"), "content", "message") or text(entry.get("error"))
        turns: list[PlacedTurn] = []
        if error is None or text(entry.get("content")):
            once, model = spent(entry.get("usage")), first_text(entry, "model", "modelName")
            turns = message_turns(entry, conversation, once=once, model=model)
        if error is not None:
            turns += error_turns(error, text(entry.get("model")))
        return each_filled(turns, sounding=branch, parent=parent)


def _of_database(source: Source) -> Iterator[Entry]:
    """The rows of webui.db, whose chats are JSON texts."""
    with opened_tables(source) as tables:
        for row in tables.rows("chat", "created_at", "id"):
            chat = json_or_none(str(row.get("chat")))
            yield f"chat {row.get('id')}", {**plain(row), "chat": chat}


def _is_chat(item: dict[str, Any]) -> bool:
    chat = as_object(item.get("chat")) or item
    tree = as_object(chat.get("history")).get("messages")
    return isinstance(tree, dict) or (chat is not item and isinstance(chat.get("messages"), list))


def _session(fallback: str, at: str, value: dict[str, Any]) -> SessionEntries | Problem:
    chat = as_object(value.pop("chat", None)) or {"history": value.pop("history", None)}
    nodes = as_object(as_object(chat.get("history")).get("messages"))
    messages = enumerate(as_list(chat.get("messages")))
    listed = {id_text(as_object(item).get("id")) or str(number): item for number, item in messages}
    name = id_text(value.get("id")) or fallback
    entries = tree_entries(at, nodes or listed, "messages", "parentId", "childrenIds")
    return SessionEntries(name, entries, first_text(value, "title"), extra=value)


_HEADING = re.compile(r"(?:\A|\r?\n)### (USER|ASSISTANT|SYSTEM)\r?\n")


class OpenWebUiText(Format):
    called = "openwebui_text"
    shapes = "Open WebUI's chats as plain text (### USER, ### ASSISTANT)"

    def sniff(self, head: DumpHead) -> int:
        first = _HEADING.match(head.text.lstrip("\ufeff")) if head.shape == "text" else None
        return 75 if first and "\n### ASSISTANT" in head.text.replace("\r", "") else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        yield SessionEntries(source.stem, _messages(source))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        return text_turns(str(entry.get("content")), ("content",), text(entry.get("role")), conversation)


def _messages(source: Source) -> Entries:
    """What stands between the headings; Open WebUI ends each message with an empty line."""
    written = source.plain_text().lstrip("\ufeff")
    headings = list(_HEADING.finditer(written))
    for heading, following in zip(headings, [*headings[1:], None], strict=True):
        end = len(written) if following is None else following.start()
        content = re.sub(r"(?:\r?\n){1,2}\Z", "", written[heading.end() : end])
        yield f"character {heading.start()}", {"role": heading[1].lower(), "content": content}


plugins = (OpenWebUi(), OpenWebUiText())
