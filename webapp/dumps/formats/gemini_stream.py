"""Gemini CLI's stream (`gemini --output-format stream-json`): messages in pieces, calls and results, one a line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.documents import joined_runs, whole_document
from webapp.dumps.messages.pieces import Piece
from webapp.dumps.messages.turn_values import each_filled, each_with, with_usage
from webapp.dumps.messages.turns import error_turns, event_turns, note_unknown_kind, result_turns, text_turns, turns_of
from webapp.dumps.records import Problem
from webapp.dumps.sessions import grouped
from webapp.dumps.values import as_list, as_object, first_text, moment, text

_BAD_CALL = "invalid_tool_params"


@dataclass(slots=True)
class _Stream(Conversation):
    has_pieces: bool = False
    """whether an answer came in pieces: others may be expected to"""
    spoke: bool = False
    """whether the line before was a message of the assistant's"""


class GeminiStream(Format):
    shapes = (
        'Gemini CLI\'s stream-json {"type": "init", "session_id"}, {"type": "message", "role", "content"} one a line'
    )

    conversation_type = _Stream

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "object" and _is_output(head.document):
            return 88
        return 90 if head.shape == "lines" and any(map(_is_line, head.objects)) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.shape == "object":
            yield SessionEntries(first_text(head.document, "session_id") or source.stem, whole_document(source))
            return
        for session in grouped(source, head, self.session_of):
            if isinstance(session, Problem):
                yield session
            else:
                yield replace(session, entries=joined_runs(session.entries, _is_delta, "deltas"))

    def read_entry(self, entry: dict[str, Any], conversation: _Stream) -> list[PlacedTurn]:
        deltas = [delta for delta in as_list(entry.get("deltas")) if isinstance(delta, dict)]
        line = deltas[0] if deltas else entry
        return each_filled(_line(line, deltas, conversation), sent_at=moment(line.get("timestamp")))


plugin = GeminiStream()


def _is_line(value: dict[str, Any]) -> bool:
    kind = value.get("type")
    if kind == "init":
        return "session_id" in value and "model" in value
    return "timestamp" in value and (
        (kind == "tool_use" and "tool_name" in value) or (kind == "message" and "delta" in value)
    )


def _is_output(value: dict[str, Any]) -> bool:
    """What `gemini --output-format json` prints: the answer and what the run came to."""
    return isinstance(value.get("response"), str) and isinstance(value.get("stats"), dict)


def _is_delta(value: dict[str, Any]) -> bool:
    return value.get("type") == "message" and value.get("role") == "assistant" and value.get("delta") is True


def _line(line: dict[str, Any], deltas: list[dict[str, Any]], conversation: _Stream) -> list[PlacedTurn]:
    kind, ident = line.get("type"), text(line.get("tool_id"))
    spoke, conversation.spoke = conversation.spoke, kind == "message" and line.get("role") == "assistant"
    if kind is None and _is_output(line):
        return text_turns(line["response"], ("response",), "assistant", conversation)
    if kind == "message":
        if not all(isinstance(part.get("content"), str) for part in deltas or [line]):
            conversation.notes.append("a piece of a message without a text as its content; it was left out")
        conversation.has_pieces = conversation.has_pieces or bool(deltas)
        may_be_piece = spoke or conversation.has_pieces or "delta" in line
        if may_be_piece and line.get("role") == "assistant" and not isinstance(line.get("delta"), bool):
            conversation.notes.append("a message of the assistant's that does not say whether it is a piece of one")
        raw = "".join(text(part.get("content")) or "" for part in deltas or [line])
        return text_turns(raw, None if deltas else ("content",), text(line.get("role")), conversation)
    if kind == "tool_use":
        piece = Piece.of_call(line.get("parameters"), (), text(line.get("tool_name")), ident, line)
        return turns_of([piece], "assistant", conversation)
    if kind == "tool_result":
        error = as_object(line.get("error"))
        failure = first_text(error, "message", "type") if error.get("type") == _BAD_CALL else None
        turns = result_turns(line.get("output", error.get("message")), ("output",), conversation, None, ident)
        return each_with(turns, failure=failure)
    if kind == "error" or (kind == "result" and line.get("status") == "error"):
        return error_turns(first_text(line, "message") or first_text(line.get("error"), "message"), text(kind))
    if kind not in ("init", "result"):
        note_unknown_kind(kind, conversation)
    conversation.model = text(line.get("model")) or conversation.model
    return with_usage(event_turns(text(kind)), line.get("stats"))
