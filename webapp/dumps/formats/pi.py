"""Pi's and OpenClaw's sessions: JSONL that begins with {"type": "session"}, messages as a tree by id and parentId."""

from __future__ import annotations

from typing import Any

from webapp.dumps.base import NATIVE, DumpHead, Format, PlacedTurn
from webapp.dumps.branches import BranchedConversation
from webapp.dumps.messages.pieces import Path, Piece, block, joined
from webapp.dumps.messages.pieces import content as content_pieces
from webapp.dumps.messages.turns import each_filled, error_turns, event_turns, result_turns, turns_of, with_usage
from webapp.dumps.values import as_object, id_text, moment, text

_ROLES = ("user", "assistant", "toolResult", "bashExecution", "custom", "branchSummary", "compactionSummary")
_GROWING = ("message_start", "message_update", "turn_end")
"""events of `pi --mode json` that hold a message before its end, or again"""
_FAILED = ("error", "aborted")


class Pi(Format):
    home = NATIVE
    shapes = 'sessions of Pi or OpenClaw {"type": "session", "id"}, {"type": "message", "message"} one a line'
    conversation_type = BranchedConversation

    def sniff(self, head: DumpHead) -> int:
        return 93 if head.shape in ("lines", "array") and any(map(_is_line, head.objects)) else 0

    def session_of(self, entry: dict[str, Any]) -> str | None:
        return id_text(entry.get("id")) if entry.get("type") == "session" else None

    def read_entry(self, entry: dict[str, Any], conversation: BranchedConversation) -> list[PlacedTurn]:
        kind, message, parent = entry.get("type"), entry.get("message"), id_text(entry.get("parentId"))
        branch = conversation.branch(id_text(entry.get("id")), parent)
        if kind == "model_change":
            conversation.model = text(entry.get("modelId")) or conversation.model
        if kind == "custom_message" and entry.get("content"):  # what an extension tells the model
            turns = turns_of(_pieces(entry["content"], ("content",)), "user", conversation)
        elif isinstance(message, dict) and kind not in _GROWING:
            turns = _message(message, conversation)
        else:
            turns = event_turns(text(kind), text(entry.get("summary")), ("summary",))
        when = moment(entry.get("timestamp")) or moment(as_object(message).get("timestamp"))
        return each_filled(turns, sent_at=when, parent=parent, sounding=branch)


plugin = Pi()


def _is_line(value: dict[str, Any]) -> bool:
    message = as_object(value.get("message"))
    if value.get("type") == "session":
        return "id" in value and ("version" in value or "cwd" in value)
    spoken = value.get("type") == "message" and "parentId" in value
    return spoken and (message.get("role") == "toolResult" or "stopReason" in message)


def _message(message: dict[str, Any], conversation: BranchedConversation) -> list[PlacedTurn]:
    role, at = text(message.get("role")), ("message", "content")
    if role == "bashExecution":
        return event_turns(role, text(message.get("output")), ("message", "output"))
    if role == "toolResult":
        raw, path = joined(content_pieces(message.get("content"), at))
        name, ident = text(message.get("toolName")), text(message.get("toolCallId"))
        return result_turns(raw, path or (), conversation, name, ident)
    pieces = _pieces(message.get("content"), at)
    turns = turns_of(pieces, role, conversation, model=text(message.get("model"))) if pieces else []
    if message.get("stopReason") in _FAILED:
        reason = text(message.get("errorMessage")) or str(message["stopReason"])
        turns += error_turns(reason, str(message["stopReason"]))
    usage = as_object(message.get("usage"))
    return with_usage(turns, usage, as_object(usage.get("cost")).get("total")) or event_turns(role)


def _pieces(value: Any, at: Path) -> list[Piece]:
    if not isinstance(value, list):
        return content_pieces(value, at)
    pieces: list[Piece] = []
    for index, inner in enumerate(value):
        if isinstance(inner, dict) and inner.get("type") == "toolCall":
            pieces.append(_call(inner, (*at, index)))
        else:
            pieces += block(inner, (*at, index))
    return pieces


def _call(value: dict[str, Any], at: Path) -> Piece:
    """A call; where its text was cut, `partialJson` holds what the model wrote, and it failed."""
    name, ident, partial = text(value.get("name")), text(value.get("id")), text(value.get("partialJson"))
    if partial is not None:
        return Piece("call", partial, (*at, "partialJson"), name, ident, dict(value), "the arguments are cut")
    return Piece.of_call(value.get("arguments"), (*at, "arguments"), name, ident, dict(value))
