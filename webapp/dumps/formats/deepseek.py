"""DeepSeek's export (conversations.json): trees of messages, of fragments or with role and content."""

from __future__ import annotations

from typing import Any

from webapp.dumps.base import DumpHead, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.branches import BranchedConversation, tree_entries
from webapp.dumps.messages.pieces import Piece
from webapp.dumps.messages.turns import each_filled, event_turns, message_turns, turns_of
from webapp.dumps.sessions import each_session, entries_of
from webapp.dumps.values import as_list, as_object, first_id, first_moment, id_text, text

_ROLES = {"REQUEST": "user", "RESPONSE": "assistant", "THINK": "assistant"}


class DeepSeek(Format):
    shapes = 'DeepSeek\'s export [{"mapping": {…: {"message": {"fragments"}}}}]'
    conversation_type = BranchedConversation

    def sniff(self, head: DumpHead) -> int:
        nodes = [node for value in head.objects for node in as_object(value.get("mapping")).values()]
        messages = [as_object(as_object(node).get("message")) for node in nodes]
        own = [message for message in messages if "fragments" in message or {"role", "content"} <= message.keys()]
        return 97 if own and not any("author" in message for message in messages) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        yield from each_session(entries_of(source, head), source.stem, _session)

    def read_entry(self, entry: dict[str, Any], conversation: BranchedConversation) -> list[PlacedTurn]:
        parent, message = id_text(entry.get("parent")), as_object(entry.get("message"))
        branch = conversation.branch(id_text(entry.get("id")), parent)
        turns = event_turns("root")
        if "fragments" in message:
            turns = _fragments(as_list(message["fragments"]), text(message.get("model")), conversation)
        elif message:
            lowercase = {**message, "role": str(message.get("role")).lower()}
            turns = message_turns(lowercase, conversation, ("message",), model=text(message.get("model")))
        return each_filled(turns, sounding=branch, parent=parent, sent_at=first_moment(message, "inserted_at"))


plugin = DeepSeek()


def _session(fallback: str, at: str, value: dict[str, Any]) -> SessionEntries:
    nodes = as_object(value.pop("mapping", None))
    entries = tree_entries(at, nodes, "mapping", "parent", "children")
    return SessionEntries(first_id(value, "id") or fallback, entries, text(value.get("title")), extra=value)


def _fragments(fragments: list[Any], model: str | None, conversation: BranchedConversation) -> list[PlacedTurn]:
    """What was asked, thought and answered; of other kinds (searches) their name."""
    turns: list[PlacedTurn] = []
    for index, fragment in enumerate(fragments):
        kind, raw = str(as_object(fragment).get("type")), as_object(fragment).get("content")
        at = ("message", "fragments", index, "content")
        if kind in _ROLES and isinstance(raw, str):
            piece = Piece("thinking" if kind == "THINK" else "text", raw, at)
            turns += turns_of([piece], _ROLES[kind], conversation, model=model)
        else:
            turns += event_turns(kind)
    if not turns:
        conversation.notes.append("a message without a fragment")
    return turns or event_turns()
