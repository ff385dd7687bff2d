"""ChatGPT's export (conversations.json): each conversation is a session, its tree of messages read branch by branch."""

from __future__ import annotations

from typing import Any

from webapp.dumps.base import DumpHead, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.branches import BranchedConversation, tree_entries
from webapp.dumps.json_path import long_texts
from webapp.dumps.messages.pieces import Path, Piece, joined
from webapp.dumps.messages.turns import each_filled, event_turns, turns_of
from webapp.dumps.records import Problem
from webapp.dumps.sessions import each_session, entries_of
from webapp.dumps.values import as_list, as_object, first_id, id_text, moment, text

_THOUGHTS = ("thoughts", "reasoning_recap")
_TEXTS = ("text", "result", "content", "user_instructions", "user_profile", "model_set_context")

_SPOKEN = ("text", "multimodal_text")


class ChatGpt(Format):
    shapes = 'ChatGPT\'s export [{"conversation_id", "mapping": {…}}]'
    conversation_type = BranchedConversation

    def sniff(self, head: DumpHead) -> int:
        if head.objects:
            return 95 if all(map(_is_conversation, head.objects)) else 0
        return 90 if head.mentions("mapping") and head.mentions("current_node", "conversation_id") else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        yield from each_session(entries_of(source, head), source.stem, _session)

    def read_entry(self, entry: dict[str, Any], conversation: BranchedConversation) -> list[PlacedTurn]:
        parent = id_text(entry.get("parent"))
        branch = conversation.branch(id_text(entry.get("id")), parent)
        message = entry.get("message")
        turns = event_turns("root")
        if isinstance(message, dict):
            turns = _message(message, conversation)
        elif message is not None:
            conversation.notes.append("a message that is no object; it was left out")
        when = moment(as_object(message).get("create_time"))
        return each_filled(turns, sounding=branch, parent=parent, sent_at=when)


plugin = ChatGpt()


def _is_conversation(value: dict[str, Any]) -> bool:
    nodes = value.get("mapping")
    if not isinstance(nodes, dict) or "chat_messages" in value:
        return False
    return all(isinstance(node, dict) and "message" in node for node in nodes.values())


def _session(fallback: str, at: str, value: dict[str, Any]) -> SessionEntries | Problem:
    nodes = value.pop("mapping", None)
    if not isinstance(nodes, dict):
        return Problem(at, "no mapping of messages; skipped")
    name = first_id(value, "conversation_id", "id") or fallback
    entries = tree_entries(at, nodes, "mapping", "parent", "children")
    return SessionEntries(name, entries, text(value.get("title")), extra=value)


def _message(message: dict[str, Any], conversation: BranchedConversation) -> list[PlacedTurn]:
    author, content = as_object(message.get("author")), as_object(message.get("content"))
    role, kind = text(author.get("role")), text(content.get("content_type"))
    pieces = _pieces(content)
    raw, path = joined(pieces)
    recipient = text(message.get("recipient"))
    if kind in _THOUGHTS:
        pieces = [Piece("thinking", raw, path)] if raw else []
    elif role == "tool":
        pieces = [Piece("result", raw, path, text(author.get("name")) or recipient)]
    elif role == "assistant" and (kind == "code" or message.get("recipient") not in (None, "all")):
        pieces = [Piece("call", raw, path, recipient, None, {"name": recipient, "arguments": raw})]
    model = text(as_object(message.get("metadata")).get("model_slug"))
    if not isinstance(message.get("content"), dict):
        conversation.notes.append("a message without a content that is known")
    if not pieces:
        parts = as_list(content.get("parts"))
        unread = None in parts or not any(isinstance(part, dict) for part in parts)  # an image has no words
        unread = unread or bool(long_texts([part for part in parts if "asset_pointer" not in as_object(part)]))
        if role == "assistant" and kind in _SPOKEN and unread:
            conversation.notes.append(f"a message of kind {kind!r} without a readable part")
        elif kind is None and any(content.values()):
            keys = ", ".join(repr(str(key)[:40]) for key in content)
            conversation.notes.append(f"the content has no kind that is known (its keys: {keys}); it was left out")
        elif kind not in _SPOKEN and (paths := long_texts([content])):
            conversation.notes.append(
                f"a message of the unknown kind {kind!r} was left out (texts at {', '.join(paths)})"
            )
        return event_turns(kind or role)
    return turns_of(pieces, role, conversation, model=model)


def _pieces(content: dict[str, Any]) -> list[Piece]:
    """The texts of a message: its parts that are texts, or speak; else the text beside."""
    at: Path = ("message", "content")
    pieces = [
        Piece("text", raw, (*at, "parts", index) if raw is part else (*at, "parts", index, "text"))
        for index, part in enumerate(as_list(content.get("parts")))
        if isinstance(raw := part.get("text") if isinstance(part, dict) else part, str)
    ]
    for index, thought in enumerate(as_list(content.get("thoughts"))):
        if isinstance(raw := as_object(thought).get("content"), str):
            pieces.append(Piece("text", raw, (*at, "thoughts", index, "content")))
    if pieces:
        return pieces
    return [Piece("text", content[key], (*at, key)) for key in _TEXTS if isinstance(content.get(key), str)][:1]
