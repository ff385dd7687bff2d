"""Goose's database (sessions.db), whose messages hold their blocks as JSON text."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entry, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.decoding import json_or_none
from webapp.dumps.messages.turns import message_turns
from webapp.dumps.sqlite_tables import opened_tables, plain
from webapp.dumps.values import id_text, text

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


plugin = Goose()


def _entry(row: dict[str, Any]) -> Entry:
    """A row with its content as JSON."""
    written = row.pop("content_json", None)
    return f"message {row.get('id')}", {**plain(row), "content": json_or_none(written) or written}
