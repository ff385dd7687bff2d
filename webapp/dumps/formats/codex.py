"""Codex: its rollouts {timestamp, type, payload}, of which twins are merged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from webapp.dumps.base import DumpHead, RepeatedIds, SessionEntries, Sessions, Source
from webapp.dumps.declared import Declared
from webapp.dumps.declared_rules import Declaring
from webapp.dumps.documents import with_list
from webapp.dumps.linked_turns import Side
from webapp.dumps.records import Problem, Turn
from webapp.dumps.sessions import SessionOf, grouped
from webapp.dumps.values import as_object, id_text, text

_TYPES = ("session_meta", "turn_context", "event_msg", "response_item", "compacted")
_ITEMS = ("message", "reasoning", "function_call", "function_call_output", "local_shell_call", "custom_tool_call")
_SIDES = ("user", "assistant", "thinking")


@dataclass(slots=True)
class _Rollout(Declaring):
    logged: int | None = None
    """whether the line is an event (1) or an item (0) of those that come twice"""


class Codex(Declared):
    conversation_type = _Rollout

    def sniff(self, head: DumpHead) -> int:
        lines = head.objects if head.shape in ("lines", "object") else []
        if any(line.get("type") in _TYPES and isinstance(line.get("payload"), dict) for line in lines):
            return 95
        if _is_older_file(head):
            return 90
        first = lines[0] if lines else {}
        old = {"id", "timestamp", "instructions"} <= first.keys() and "role" not in first
        return 90 if old and all(line.get("type") in _ITEMS or "record_type" in line for line in lines[1:]) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if _is_older_file(head):
            extra, items = with_list(source, head, "items", needed="session")
            name = id_text(as_object(extra.get("session")).get("id"))
            return iter([SessionEntries(name or source.stem, items, extra=extra)])
        return grouped(source, head, _session_namer())

    def repeated_ids(self, at: str, entry: dict[str, Any], ids: RepeatedIds) -> Iterator[Problem]:
        """Ids of items and of calls; a call and its output share one, so each kind of item has its own."""
        payload = entry.get("payload")
        item = payload if isinstance(payload, dict) else entry
        kind = item.get("type")
        is_item = entry.get("type") == "response_item" or (payload is None and kind in _ITEMS)
        if is_item and isinstance(kind, str):
            yield from ids.again(at, "item id", item.get("id"))
            yield from ids.again(at, f"call id of a {kind[:50]}", item.get("call_id"))

    def read_entry(self, entry: dict[str, Any], conversation: _Rollout) -> list[Turn]:  # type: ignore[override]
        kind = entry.get("type")
        is_item = kind == "response_item" or (entry.get("payload") is None and kind in _ITEMS)
        conversation.logged = 1 if kind == "event_msg" else 0 if is_item else None
        if kind == "turn_context":
            conversation.model = text(as_object(entry.get("payload")).get("model")) or conversation.model
        return super().read_entry(entry, conversation)

    def side(self, turn: Turn, conversation: _Rollout) -> Side | None:
        """User, assistant and thinking texts come as an event and as an item."""
        logged = conversation.logged
        return (f"{turn.role}", logged) if logged is not None and turn.raw and turn.role in _SIDES else None


def _is_older_file(head: DumpHead) -> bool:
    """{"session", "items"}, one file of the first Codex, which was written in TypeScript."""
    items = [item for item in head.items.get("items", []) if isinstance(item, dict)]
    return head.shape == "object" and "session" in head.keys and any(item.get("type") in _ITEMS for item in items)


def _session_namer() -> SessionOf:
    """What names a session: its first line. A fork's holds its parent's again, which begins none of its own."""
    parents: set[str] = set()

    def session(line: dict[str, Any]) -> str | None:
        if (name := _session(line)) is None or name in parents:
            return None
        if parent := id_text(as_object(line.get("payload")).get("forked_from_id")):
            parents.add(parent)
        return name

    return session


def _session(line: dict[str, Any]) -> str | None:
    payload = line.get("payload")
    if line.get("type") == "session_meta" and isinstance(payload, dict):
        return id_text(payload.get("id"))
    return id_text(line.get("id")) if "instructions" in line and "type" not in line else None


plugin = Codex("codex")
