"""Pydantic AI's messages: [{"kind": "request" or "response", "parts": [{"part_kind"}]}], a list, lines or a member."""

from __future__ import annotations

from typing import Any

from webapp.dumps.base import BadEntry, Conversation, DumpHead, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.decoding import kind_of
from webapp.dumps.documents import nested, whole_document
from webapp.dumps.messages.pieces import Path, Piece, as_json, text_or_json
from webapp.dumps.messages.turn_values import each_filled, with_usage
from webapp.dumps.messages.turns import error_turns, event_turns, result_turns, text_turns, turns_of
from webapp.dumps.records import Problem
from webapp.dumps.sessions import document_session, each_session, entries_of
from webapp.dumps.values import as_list, as_object, first_id, moment, text

_IDS = ("session_id", "conversation_id", "thread_id", "run_id", "id")
_LISTS = ("messages", "all_messages", "new_messages", "message_history", "history")
_PROMPTS = {"user-prompt": "user", "system-prompt": "system", "instruction": "system"}
_CALLS = ("tool-call", "builtin-tool-call")
_RETURNS = ("tool-return", "builtin-tool-return")
_MUTE = ("image-url", "audio-url", "video-url", "document-url", "binary", "uploaded-file", "cache-point")
"""what a prompt holds besides texts"""


class PydanticAi(Format):
    shapes = 'Pydantic AI\'s messages [{"kind": "response", "parts": [{"part_kind"}]}] or {"messages": […]}'
    times = ("timestamp",)
    parent_key = "run_id"

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "object":
            listed = [item for key in _LISTS for item in head.items.get(key, []) if isinstance(item, dict)]
            return 94 if any(map(_is_message, [head.document, *listed])) else 0
        return 94 if any(_is_message(sample) or _list_of(sample) for sample in head.objects) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        key = next((key for key in _LISTS if any(map(_is_message, head.items.get(key, [])))), None)
        if head.shape == "object" and key is not None:
            yield document_session(source, head, key, needed="usage", ids=_IDS)
        elif head.shape == "object":
            yield SessionEntries(source.stem, whole_document(source))
        elif any(map(_list_of, head.objects)):
            yield from each_session(entries_of(source, head), source.stem, _run)
        else:
            yield SessionEntries(source.stem, entries_of(source, head))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        parts, wrote = entry.get("parts"), entry.get("kind") == "response"
        if not isinstance(parts, list):
            raise BadEntry(f"expected a list of parts, found {kind_of(parts)}")
        conversation.model = text(entry.get("model_name")) or conversation.model
        turns = _instructions(entry, conversation)
        for index, part in enumerate(parts):
            turns += _part(part, ("parts", index), wrote, conversation)
        if not turns and wrote:
            turns = turns_of([], "assistant", conversation)
        usage = as_object(entry.get("usage"))
        old = {"input_tokens": usage.get("request_tokens"), "output_tokens": usage.get("response_tokens")}
        return with_usage(turns, {**old, **usage})


plugin = PydanticAi()


def _is_message(value: Any) -> bool:
    """A message with parts of its own kind, or one without a part that says by its kind whose it is."""
    if not isinstance(value, dict) or not isinstance(value.get("parts"), list):
        return False
    parts = [part for part in value["parts"] if isinstance(part, dict)]
    return any("part_kind" in part for part in parts) or (not parts and value.get("kind") in ("request", "response"))


def _list_of(value: dict[str, Any]) -> str | None:
    """The key under which an object holds messages."""
    return next((key for key in _LISTS if isinstance(value.get(key), list) and any(map(_is_message, value[key]))), None)


def _run(fallback: str, at: str, value: dict[str, Any]) -> SessionEntries | Problem:
    """One run a line, or an item of a list: each is a session."""
    key = _list_of(value)
    if key is None:
        return Problem(at, "expected an object with a list of messages; skipped")
    messages = value.pop(key)
    return SessionEntries(first_id(value, *_IDS) or fallback, nested(at, key, messages), extra=value)


def _instructions(entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
    """What a request says beside its parts, where it is new: every request of a run repeats it."""
    said = text(entry.get("instructions"))
    if said is None or hash(said) in conversation.answered:
        return []
    conversation.answered.add(hash(said))
    return text_turns(said, ("instructions",), "system", conversation)


def _part(part: Any, at: Path, wrote: bool, conversation: Conversation) -> list[PlacedTurn]:
    if not isinstance(part, dict):
        conversation.notes.append(f"a part is not an object but {kind_of(part)}; it was left out")
        return []
    kind, content, ident = str(part.get("part_kind")), part.get("content"), text(part.get("tool_call_id"))
    name, where, when = text(part.get("tool_name")), (*at, "content"), moment(part.get("timestamp"))
    if kind in _PROMPTS:
        turns = turns_of(_prompt(content, where, conversation), _PROMPTS[kind], conversation)
    elif kind in _CALLS:
        raw, path = text_or_json(part.get("args"), (*at, "args"))
        called = dict(part) if raw else {**part, "without_arguments": True}  # it writes an empty text where none came
        piece = Piece("call", "" if raw is None else raw, path, name, ident, called)
        turns = turns_of([piece], "assistant", conversation)
    elif kind in _RETURNS:
        turns = result_turns(content, where, conversation, name, ident)
    elif kind == "retry-prompt":
        turns = _retry(content, where, name, ident, conversation)
    elif kind in ("text", "thinking") and isinstance(content, str):
        piece = Piece("text" if kind == "text" else "thinking", content, where)
        turns = turns_of([piece], "assistant", conversation)
    else:
        turns = _other(part, kind, wrote, conversation)
    return each_filled(turns, sent_at=when)


def _prompt(value: Any, at: Path, conversation: Conversation) -> list[Piece]:
    """The texts of a prompt; images, files and the like hold none."""
    if isinstance(value, str):
        return [Piece("text", value, at)]
    pieces = []
    for index, inner in enumerate(as_list(value)):
        content = as_object(inner).get("content")
        if isinstance(inner, str):
            pieces.append(Piece("text", inner, (*at, index)))
        elif isinstance(content, str):
            pieces.append(Piece("text", content, (*at, index, "content")))
        elif as_object(inner).get("kind") not in _MUTE:
            conversation.notes.append(f"item {index} of a prompt has no known text; it was left out")
    return pieces


def _retry(value: Any, at: Path, name: str | None, ident: str | None, conversation: Conversation) -> list[PlacedTurn]:
    """What was wrong with the last answer: a list where the values did not validate, a text else."""
    raw, path = text_or_json(value, at)
    if name is None:
        return error_turns(raw, "retry-prompt", path)
    failure = as_json(value) if isinstance(value, list) else None
    return turns_of([Piece("result", raw, path, name, ident, None, failure)], "tool", conversation)


def _other(part: dict[str, Any], kind: str, wrote: bool, conversation: Conversation) -> list[PlacedTurn]:
    """A part without a text: a file, or one that is not known, which is worth a word."""
    if kind not in ("file", "compaction"):
        keys = ", ".join(repr(str(key)[:40]) for key in list(part)[:12])
        conversation.notes.append(f"a part of kind {kind[:40]!r} is not known (its keys: {keys}); it was left out")
    return [] if wrote else event_turns(kind)
