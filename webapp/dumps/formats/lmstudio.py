"""LM Studio's conversations: {"name", "messages": [{"versions": […], "currentlySelected"}]}; versions are branches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn, Sessions, Source
from webapp.dumps.messages.pieces import Path, Piece, block, content
from webapp.dumps.messages.turns import each_with, turns_of
from webapp.dumps.sessions import document_session
from webapp.dumps.values import as_list, as_object, first_text, id_text, text


class LmStudio(Format):
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
            version_turns = turns_of(_pieces(version, ("versions", index)), text(version.get("role")), conversation)
            turns += each_with(version_turns, sounding=place or None)
        return turns


plugin = LmStudio()


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


def _pieces(version: dict[str, Any], at: Path) -> list[Piece]:
    pieces = content(version.get("content"), (*at, "content"))
    for index, step in enumerate(as_list(version.get("steps"))):
        if isinstance(step, dict) and step.get("type") == "contentBlock":
            step_pieces = list(_blocks(step.get("content"), (*at, "steps", index, "content")))
            thinking = as_object(step.get("style")).get("type") == "thinking"
            pieces += [Piece("thinking", piece.text, piece.path) for piece in step_pieces] if thinking else step_pieces
    return pieces
