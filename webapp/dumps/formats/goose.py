"""Databases of agents for the terminal: Goose's sessions.db and Crush's crush.db, of which there is JSON, too."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from webapp.dumps.base import (
    NATIVE,
    Conversation,
    DumpHead,
    Entry,
    Format,
    PlacedTurn,
    SessionEntries,
    Sessions,
    Source,
)
from webapp.dumps.decoding import json_or_none
from webapp.dumps.documents import with_list
from webapp.dumps.messages.pieces import Path, Piece, text_or_json
from webapp.dumps.messages.turns import error_turns, message_turns, turns_of
from webapp.dumps.sqlite_tables import opened_tables, plain
from webapp.dumps.values import as_list, as_object, first_id, first_text, id_text, text

_TABLES = {"sessions", "messages", "schema_version"}


class Goose(Format):
    shapes = "Goose's database sessions.db (its exported sessions are messages)"
    times = ("created_timestamp",)

    def sniff(self, head: DumpHead) -> int:
        return 88 if head.shape == "sqlite" and set(head.names) >= _TABLES else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        with opened_tables(source) as tables:
            about = {row.get("id"): row for row in tables.rows("sessions")}
            rows = tables.rows("messages", "session_id", "created_timestamp", "id")
            for ident, messages in groupby(rows, lambda row: row.get("session_id")):
                extra = plain(about.get(ident, {}))
                title = text(extra.get("name")) or text(extra.get("description"))
                yield SessionEntries(id_text(ident) or source.stem, map(_entry, messages), title, extra=extra)

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        if not isinstance(entry.get("content"), list):
            conversation.notes.append("a message whose content_json is no list of blocks")
        return message_turns(entry, conversation)


def _entry(row: dict[str, Any]) -> Entry:
    """A row with its content as JSON."""
    written = row.pop("content_json", None)
    return f"message {row.get('id')}", {**plain(row), "content": json_or_none(written) or written}


_KINDS = ("reasoning", "tool_call", "tool_result", "finish")
"""of parts, none of which other programs call so beside a text"""
_ROLES = ("user", "assistant", "tool", "system")


class Crush(Format):
    called = "crush"
    home = NATIVE
    shapes = 'Crush\'s database, or its sessions {"meta", "messages": [{"role", "parts": [{"type", "data"}]}]}'
    times = ("created_at", "created")

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "sqlite":
            return 90 if {"sessions", "messages", "files"} <= set(head.names) else 0
        messages = head.items.get("messages", []) if head.shape == "object" else head.objects
        return 93 if any(map(_is_message, messages)) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.shape == "sqlite":
            yield from _stored(source)
        elif head.shape == "object":
            extra, entries = with_list(source, head, "messages", needed="messages")
            about = {**extra, **as_object(extra.get("meta")), **as_object(extra.get("session"))}
            name = first_id(about, "id", "uuid") or source.stem
            yield SessionEntries(name, entries, first_text(about, "title"), extra=extra)
        else:
            yield from super().sessions(source, head)

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        pieces, errors = list[Piece](), list[PlacedTurn]()
        for index, part in enumerate(_parts(entry)):
            data = as_object(part.get("data")) or part
            pieces += _piece(part.get("type"), data, ("parts", index) if data is part else ("parts", index, "data"))
            if part.get("type") == "finish" and data.get("reason") == "error":
                reason = first_text(data, "message", "details")
                errors += error_turns(reason, "provider")
        turns = turns_of(pieces, text(entry.get("role")), conversation, model=text(entry.get("model")))
        turns = [placed for placed in turns if placed[0].raw is not None] if errors else turns
        return [*turns, *errors]


def _parts(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """A message's parts, which the database holds as JSON text."""
    parts = entry.get("parts")
    return [as_object(part) for part in as_list(json_or_none(parts) if isinstance(parts, str) else parts)]


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict) or value.get("role") not in _ROLES:
        return False
    parts = _parts(value)
    if any(isinstance(part.get("data"), dict) and part.get("type") in ("text", *_KINDS) for part in parts):
        return True
    return any(part.get("type") in _KINDS[1:] and "state" not in part for part in parts)


def _piece(kind: Any, data: dict[str, Any], at: Path) -> Iterator[Piece]:
    """What a part says; an image or the end of an answer says nothing."""
    name, ident = text(data.get("name")), first_id(data, "tool_call_id", "id")
    if kind == "text" and not isinstance(data.get("text"), str):
        yield Piece("unread", "a part of type 'text' without a text; it was left out")
    elif kind == "text":
        yield Piece("text", data["text"], (*at, "text"))
    elif kind == "reasoning":
        yield Piece("thinking", *text_or_json(data.get("thinking"), (*at, "thinking")))
    elif kind == "tool_call":
        yield Piece.of_call(data.get("input"), (*at, "input"), name, ident, dict(data))
    elif kind == "tool_result":
        yield Piece.of_result(data.get("content"), (*at, "content"), name, ident)


def _stored(source: Source) -> Iterator[SessionEntries]:
    with opened_tables(source) as tables:
        titles = {row["id"]: row for row in tables.rows("sessions")}
        rows = tables.rows("messages", "session_id", "created_at", "id")
        for ident, messages in groupby(rows, lambda row: row.get("session_id")):
            about = titles.get(ident, {})
            name = id_text(ident) or source.stem
            yield SessionEntries(name, map(_message_of_row, messages), text(about.get("title")), extra=plain(about))


def _message_of_row(row: dict[str, Any]) -> Entry:
    parsed = json_or_none(row["parts"]) if isinstance(row.get("parts"), str) else None
    return f"message {row.get('id')}", {**plain(row), **({} if parsed is None else {"parts": parsed})}


plugins = (Goose(), Crush())
