"""Messages of the Vercel AI SDK's UI: {"role", "parts": [{"type": "text"}, {"type": "tool-…"}]}, alone or in chats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.messages.pieces import Path, Piece, block
from webapp.dumps.messages.turns import each_filled, turns_of
from webapp.dumps.sessions import document_session, each_list, entries_of
from webapp.dumps.values import as_list, as_object, first_moment, first_text, text

_IDS = ("session_id", "chatId", "chat_id", "id")


class VercelUi(Format):
    shapes = 'the Vercel AI SDK\'s UI messages {"role", "parts": [{"type": "text", …}]}'

    def sniff(self, head: DumpHead) -> int:
        messages = head.items.get("messages", []) if head.shape == "object" else head.objects
        chats = [item for value in head.objects for item in as_list(value.get("messages"))]
        return 72 if any(map(_is_message, [*messages, *chats])) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.shape == "object":
            yield document_session(source, head, "messages", needed="id", ids=_IDS, title=("title",))
        elif any(map(_is_message, head.objects)):
            yield SessionEntries(source.stem, entries_of(source, head))
        else:
            yield from each_list(source, head, "messages", ids=_IDS, title=("title",))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        parts, role = entry.get("parts"), text(entry.get("role"))
        pieces = [piece for index, part in enumerate(as_list(parts)) for piece in _part(part, ("parts", index))]
        if not pieces:  # before its version 4.2
            for invocation in map(as_object, as_list(entry.get("toolInvocations"))):
                pieces += _tool(invocation, text(invocation.get("toolName")), "args", "result")
            if not isinstance(entry.get("content"), str):
                conversation.notes.append("a message without parts and without a text as its content")
        if text(entry.get("content")) and not any(piece.kind == "text" and piece.text for piece in pieces):
            pieces.append(Piece("text", entry["content"], ("content",)))
        model = first_text(entry.get("metadata"), "model", "modelId") or text(entry.get("model"))
        when = first_moment(entry, "createdAt", "created_at") or first_moment(entry.get("metadata"), "createdAt")
        return each_filled(turns_of(pieces, role, conversation, model=model), sent_at=when)


plugin = VercelUi()


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("role"), str):
        return False
    typed = (isinstance(as_object(part).get("type"), str) for part in as_list(value.get("parts")))
    return isinstance(value.get("toolInvocations"), list) or any(typed)


def _part(part: Any, at: Path) -> Iterator[Piece]:
    kind = str(as_object(part).get("type"))
    if kind == "tool-invocation":
        invocation = as_object(part.get("toolInvocation"))
        yield from _tool(invocation, text(invocation.get("toolName")), "args", "result")
    elif kind.startswith("tool-") or kind == "dynamic-tool":
        name = text(part.get("toolName")) or kind.removeprefix("tool-")
        yield from _tool(part, name, "input" if part.get("input") is not None else "rawInput", "output")
    else:
        yield from block(part, at)


def _tool(part: dict[str, Any], name: str | None, input_key: str, answered: str) -> Iterator[Piece]:
    """A call with what became of it; `rawInput` is what the model wrote where that could not be read."""
    ident, error = text(part.get("toolCallId")), text(part.get("errorText"))
    failed = input_key == "rawInput" and error is not None
    yield Piece.of_call(part.get(input_key), (), name, ident, dict(part), error if failed else None)
    answer = part.get(answered, error if not failed else None)
    if answer is not None:
        yield Piece.of_result(answer, (), name, ident)
