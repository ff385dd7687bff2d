"""Exports of chat apps whose messages branch: ChatGPT's and DeepSeek's trees, and LM Studio's versions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.branches import BranchedConversation, tree_entries
from webapp.dumps.json_path import long_texts
from webapp.dumps.messages.pieces import Path, Piece, block, content, joined
from webapp.dumps.messages.turns import each_filled, each_with, event_turns, message_turns, turns_of
from webapp.dumps.records import Problem
from webapp.dumps.sessions import document_session, each_session, entries_of
from webapp.dumps.values import as_list, as_object, first_id, first_moment, first_text, id_text, moment, text

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


_ROLES = {"REQUEST": "user", "RESPONSE": "assistant", "THINK": "assistant"}


class DeepSeek(Format):
    called = "deepseek"
    shapes = 'DeepSeek\'s export [{"mapping": {…: {"message": {"fragments"}}}}]'
    conversation_type = BranchedConversation

    def sniff(self, head: DumpHead) -> int:
        nodes = [node for value in head.objects for node in as_object(value.get("mapping")).values()]
        messages = [as_object(as_object(node).get("message")) for node in nodes]
        own = [message for message in messages if "fragments" in message or {"role", "content"} <= message.keys()]
        return 97 if own and not any("author" in message for message in messages) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        yield from each_session(entries_of(source, head), source.stem, _deepseek_session)

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


def _deepseek_session(fallback: str, at: str, value: dict[str, Any]) -> SessionEntries:
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


class LmStudio(Format):
    called = "lmstudio"
    shapes = 'LM Studio\'s conversations {"name", "messages": [{"versions": […]}]}'

    def sniff(self, head: DumpHead) -> int:
        return 94 if isinstance(head.first_of("messages").get("versions"), list) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        yield document_session(source, head, "messages", needed="name", ids=("id",), title=("name",))

    def conversation(self, context: Any) -> Conversation:
        return Conversation(first_text(context.get("lastUsedModel"), "identifier", "indexedModelIdentifier"))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        """The version that is selected, then the others, each on a branch of its own."""
        versions = as_list(entry.get("versions"))
        selected = entry.get("currentlySelected")
        order = sorted(range(len(versions)), key=lambda index: index != selected)
        turns: list[PlacedTurn] = []
        if not versions:
            conversation.notes.append("a message without a list of versions")
        for place, index in enumerate(order):
            version = as_object(versions[index])
            version_turns = turns_of(
                _version_pieces(version, ("versions", index)), text(version.get("role")), conversation
            )
            turns += each_with(version_turns, sounding=place or None)
        return turns


def _blocks(value: Any, at: Path) -> Iterator[Piece]:
    """The blocks of a step: texts, what a tool was asked, and what it answered."""
    for index, part in enumerate(as_list(value)):
        inner = as_object(part)
        name, ident = text(inner.get("name")), id_text(inner.get("toolCallRequestId"))
        if inner.get("type") == "toolCallRequest":
            yield Piece.of_call(inner.get("parameters"), (), name, ident, dict(inner))
        elif inner.get("type") == "toolCallResult":
            yield Piece.of_result(inner.get("content"), (*at, index, "content"), name, ident)
        else:
            yield from block(part, (*at, index))


def _version_pieces(version: dict[str, Any], at: Path) -> list[Piece]:
    pieces = content(version.get("content"), (*at, "content"))
    for index, step in enumerate(as_list(version.get("steps"))):
        if isinstance(step, dict) and step.get("type") == "contentBlock":
            step_pieces = list(_blocks(step.get("content"), (*at, "steps", index, "content")))
            thinking = as_object(step.get("style")).get("type") == "thinking"
            pieces += [Piece("thinking", piece.text, piece.path) for piece in step_pieces] if thinking else step_pieces
    return pieces


plugins = (ChatGpt(), DeepSeek(), LmStudio())
