"""What command lines of coding agents keep: Codex' rollouts, Kimi CLI's wire, sessions of Gemini CLI."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from webapp.dumps.base import (
    DumpHead,
    Entries,
    Entry,
    SessionEntries,
    Sessions,
    Source,
)
from webapp.dumps.declared import Declared
from webapp.dumps.declared_rules import Declaring
from webapp.dumps.documents import SessionOf, entries_of, grouped, joined_runs, with_list
from webapp.dumps.messages.pieces import pieces
from webapp.dumps.messages.streams import put_together
from webapp.dumps.messages.turns import each_filled, each_with, event_turns, turns_of
from webapp.dumps.records import Problem, Turn
from webapp.dumps.values import as_list, as_object, first_text, id_text, moment

_TYPES = ("session_meta", "turn_context", "event_msg", "response_item", "compacted")
_ITEMS = ("message", "reasoning", "function_call", "function_call_output", "local_shell_call", "custom_tool_call")


class Codex(Declared):
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
        older = super().sessions(source, head) if _is_older_file(head) else None
        return older or grouped(source, head, _unforked(self.session_of))

    def ids_of(self, entry: dict[str, Any]) -> dict[str, Any]:
        """Ids of items and of calls; a call and its output share one, so each kind of item has its own."""
        payload = entry.get("payload")
        item = payload if isinstance(payload, dict) else entry
        kind = item.get("type")
        is_item = entry.get("type") == "response_item" or (payload is None and kind in _ITEMS)
        if not is_item or not isinstance(kind, str):
            return {}
        return {"item id": item.get("id"), f"call id of a {kind[:50]}": item.get("call_id")}


def _is_older_file(head: DumpHead) -> bool:
    """{"session", "items"}, one file of the first Codex, which was written in TypeScript."""
    items = [item for item in head.items.get("items", []) if isinstance(item, dict)]
    return head.shape == "object" and "session" in head.keys and any(item.get("type") in _ITEMS for item in items)


def _unforked(session_of: SessionOf) -> SessionOf:
    """What names a session: its first line. A fork's holds its parent's again, which begins none of its own."""
    parents: set[str] = set()

    def session(line: dict[str, Any]) -> str | None:
        if (name := session_of(line)) is None or name in parents:
            return None
        if parent := id_text(as_object(line.get("payload")).get("forked_from_id")):
            parents.add(parent)
        return name

    return session


_RUN = "lines"
"""the key of lines that are one: parts of a text, or a call and the rest of its arguments, as a stream has them"""
_AGENTS = ("subagent_type", "agent_id", "parent_tool_call_id", "task_tool_call_id")


class KimiWire(Declared):
    def arranged(self, entries: Iterable[Entry | Problem]) -> Entries:
        """Lines that are parts of one text or call as one; each call that begins is another."""
        begun = 0

        def ident(line: dict[str, Any]) -> Any:
            nonlocal begun
            begun += _innermost(line)[0].get("type") == "ToolCall"
            return _joins(line), begun

        return joined_runs(entries, lambda line: _joins(line) is not None, _RUN, ident, least=2)

    def read_entry(self, entry: dict[str, Any], conversation: Declaring) -> list[Turn]:
        lines = [as_object(line) for line in as_list(entry.get(_RUN))]
        if not lines:
            return super().read_entry(entry, conversation)
        message = put_together([_innermost(line)[0] for line in lines])["message"]
        turns = turns_of(pieces(message), "assistant", conversation)
        return each_filled(turns, sent_at=moment(lines[0].get("timestamp")), phase=_innermost(lines[0])[1])


def _innermost(line: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    """A line's message, or the one that a subagent's holds, with the subagent."""
    message, agent = next((line[key] for key in ("message", "params") if isinstance(line.get(key), dict)), line), None
    while message.get("type") == "SubagentEvent" and isinstance(as_object(message.get("payload")).get("event"), dict):
        agent, message = first_text(message["payload"], *_AGENTS), message["payload"]["event"]
    return message, agent


def _joins(line: dict[str, Any]) -> tuple[str, str | None] | None:
    """What the line may be a part of."""
    message, agent = _innermost(line)
    if message.get("type") == "ContentPart" and (part := as_object(message.get("payload"))).keys() & {"text", "think"}:
        return str(part.get("type")), agent
    return ("call", agent) if message.get("type") in ("ToolCall", "ToolCallPart") else None


_SPOKEN = ("user", "gemini", "model")


@dataclass(slots=True)
class _GeminiSession(Declaring):
    rewinds: int = 0


class GeminiCli(Declared):
    conversation_type = _GeminiSession

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.shape == "object" and "messages" in head.keys:
            yield self.named(source.stem, *with_list(source, head, "messages"))
            return
        name = next((ident for line in head.objects if (ident := id_text(line.get("sessionId")))), source.stem)
        yield SessionEntries(name, _current(source, head))

    def read_entry(self, entry: dict[str, Any], conversation: _GeminiSession) -> list[Turn]:  # type: ignore[override]
        conversation.rewinds += "$rewindTo" in entry
        if changed := next((key for key in entry if key.startswith("$") and "type" not in entry), None):
            return event_turns(changed)
        turns = super().read_entry(entry, conversation)
        return each_with(turns, sounding=conversation.rewinds or None) if entry.get("type") in _SPOKEN else turns


def _current(source: Source, head: DumpHead) -> Entries:
    """The lines, messages of a `$set` each by itself; of those written again the last is the message.

    The earlier ones stay as `{"superseded": …}`.
    """
    last: dict[str, int] = {}
    for number, entry in enumerate(_gemini_messages(source, head)):
        if not isinstance(entry, Problem) and (ident := id_text(entry[1].get("id"))):
            last[ident] = number
    for number, entry in enumerate(_gemini_messages(source, head)):
        if isinstance(entry, Problem):
            yield entry
            continue
        ident = id_text(entry[1].get("id"))
        yield entry if not ident or last[ident] == number else (entry[0], {"superseded": entry[1]})


def _gemini_messages(source: Source, head: DumpHead) -> Entries:
    for entry in entries_of(source, head):
        if isinstance(entry, Problem):
            yield entry
            continue
        at, value = entry
        replaced = as_object(value.get("$set")).get("messages")
        if isinstance(replaced, list):
            yield from ((f"{at}, messages[{n}]", item) for n, item in enumerate(replaced) if isinstance(item, dict))
            value = {**value, "$set": {key: inner for key, inner in value["$set"].items() if key != "messages"}}
        yield at, value


plugins = (Codex("codex"), KimiWire("kimi_wire"), GeminiCli("gemini_cli"))
