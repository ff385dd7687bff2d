"""Cursor's own database (state.vscdb): its conversations, whose messages lie under keys of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webapp.dumps.base import Context, Conversation, DumpHead, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.decoding import json_or_none
from webapp.dumps.documents import Entries, nested
from webapp.dumps.messages.pieces import Piece
from webapp.dumps.messages.turns import error_turns, event_turns, turns_of, with_usage
from webapp.dumps.records import Problem
from webapp.dumps.sqlite_tables import Tables, opened_tables
from webapp.dumps.values import as_list, as_object, first_text, id_text, text

_TABLE = "cursorDiskKV"
_CONVERSATION, _MESSAGE = "composerData:", "bubbleId:"
_ROLES = {1: "user", 2: "assistant"}


class CursorDatabase(Format):
    shapes = "Cursor's database state.vscdb (a table cursorDiskKV)"
    times = ("createdAt",)

    def sniff(self, head: DumpHead) -> int:
        return 90 if head.shape == "sqlite" and _TABLE in head.names else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        message_count, read_ids = 0, list[str]()
        with opened_tables(source) as tables:
            for row in tables.rows(_TABLE, "key"):
                key = str(row.get("key"))
                message_count += key.startswith(_MESSAGE)
                if not key.startswith(_CONVERSATION):
                    continue
                about = _value(row)
                if not isinstance(about, dict):
                    yield Problem(key, "expected a JSON object; skipped")
                    continue
                ident = key.removeprefix(_CONVERSATION)
                listed = as_list(about.pop("conversation", None))
                entries = nested(key, "conversation", listed) if listed else _linked(tables, ident, about, read_ids)
                if listed or about.get("fullConversationHeadersOnly"):  # most are drafts, in which nobody spoke
                    yield SessionEntries(ident, entries, text(about.get("name")), extra=about)
        if left_out := message_count - len(set(read_ids)):
            yield Problem(_TABLE, f"stored messages that no conversation lists, which were left out: {left_out:,}")

    def conversation(self, context: Context) -> Conversation:
        return Conversation(first_text(context.get("modelConfig"), "modelName"))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        role = _ROLES.get(entry.get("type") or 0)
        model = first_text(as_object(entry.get("modelInfo")), "modelName")
        pieces = list(_pieces(entry))
        if role == "assistant" and not any(piece.text for piece in pieces):  # what marks a step of the program
            pieces = []
            if any(as_object(block).get("content") for block in as_list(entry.get("codeBlocks"))):
                conversation.notes.append("a message without a text holds blocks of code; they were left out")
        turns = turns_of(pieces, role, conversation, model=model) if pieces else event_turns(role)
        counts = as_object(entry.get("tokenCount"))
        turns = with_usage(turns, {key: count for key, count in counts.items() if count})
        if reason := first_text(as_object(entry.get("errorDetails")), "message", "error"):
            turns = [*(placed for placed in turns if placed[0].raw), *error_turns(reason, "provider")]
        return turns


plugin = CursorDatabase()


def _value(row: dict[str, Any]) -> Any:
    """What a row holds: JSON as text, or as bytes."""
    value = row.get("value")
    return json_or_none(value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value))


def _linked(tables: Tables, ident: str, about: dict[str, Any], read_ids: list[str]) -> Entries:
    """The messages that a conversation lists by their ids; the keys of those that are there go into `read`."""
    for header in as_list(about.get("fullConversationHeadersOnly")):
        key = f"{_MESSAGE}{ident}:{id_text(as_object(header).get('bubbleId'))}"
        value = next((_value(row) for row in tables.rows(_TABLE, key=key)), None)
        read_ids.extend([key] if value is not None else [])
        yield (key, value) if isinstance(value, dict) else Problem(key, "a message that the conversation lists is gone")


def _pieces(entry: dict[str, Any]) -> Iterator[Piece]:
    """A message's thought, its text, and its call with what came of it."""
    thought = as_object(entry.get("thinking"))
    if text(thought.get("text")):
        yield Piece("thinking", thought["text"], ("thinking", "text"))
    if isinstance(entry.get("text"), str) and (entry["text"] or not entry.get("toolFormerData")):
        yield Piece("text", entry["text"], ("text",))
    tool = as_object(entry.get("toolFormerData"))
    if text(tool.get("name")) or tool.get("rawArgs") is not None:
        ident, key = id_text(tool.get("toolCallId")), "rawArgs" if text(tool.get("rawArgs")) else "params"
        call, name = {"id": ident, "name": tool.get("name"), "status": tool.get("status")}, text(tool.get("name"))
        yield Piece.of_call(tool.get(key), ("toolFormerData", key), name, ident, call)
        answer = Piece.of_result(tool.get("result"), ("toolFormerData", "result"), name, ident)
        yield from [answer] if answer.text else ()
