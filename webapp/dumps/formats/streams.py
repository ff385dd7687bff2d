"""Streamed answers saved as they came: server-sent events, chunks one a line, Google's, and Claude Code's own."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entries, Entry, Format, SessionEntries, Sessions, Source
from webapp.dumps.declared import Declared
from webapp.dumps.declared_rules import Declaring
from webapp.dumps.documents import as_lines, entries_of
from webapp.dumps.messages.exchanges import exchange, or_failure
from webapp.dumps.messages.http import HttpExchange, http_turns
from webapp.dumps.messages.pieces import Piece, content, joined, text_or_json
from webapp.dumps.messages.stream_kinds import is_event, is_of, wrapped_event
from webapp.dumps.messages.streams import MOST_STREAM, chunks, is_data_stream, parsed_body
from webapp.dumps.messages.turns import (
    each_with,
    event_turns,
    filled,
    message_turns,
    note_once,
    spent,
    text_turns,
    turns_of,
)
from webapp.dumps.messages.unknown_streams import are_pieces, guessed_stream, plain_stream
from webapp.dumps.records import MODEL_KINDS, Kind, Problem, Turn
from webapp.dumps.source import Cut, too_long
from webapp.dumps.values import as_list, as_object, first_text, id_text, number, text

_FIELD = re.compile(r"(?:data|event|id|retry|message)?:")
_VERBOSE = re.compile(r"[*<>{}](?: |$)|[ \d]{1,3} [ \d.]+[kMG]? |  % Total")
"""what `curl -v` prints around it"""
_DATA = re.compile(r"(?:\A|\n)data:\s*(?:\{|\[DONE\])")
_BEGINS = re.compile(rb'\s*(?:data:|\{).{,200}"type"\s*:\s*"(?:message_start|response\.created|RUN_STARTED)"')
_ENDS = re.compile(
    rb'\s*data:\s*\[DONE\]|\s*(?:data:|\{).*"type"\s*:\s*"(?:message_stop|response\.completed|message-end|RUN_FINISHED)"'
    rb'|.*"(?:done|is_finished)"\s*:\s*true'
)
_IDENT = re.compile(rb'\s*(?:data:\s*)?\{.{0,300}?"id"\s*:\s*"([^"]+)".{0,300}?chat\.completion\.chunk')
_FINISHED = re.compile(rb'"finish_reason"\s*:\s*"')


class SseText(Format):
    called = "sse_text"
    shapes = "a stream saved as text (data: {…} lines, chunks one a line)"

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "text" and is_data_stream(head.text):
            return 70
        if head.shape == "text" and (_DATA.search(head.text) or plain_stream(head.text)):
            lines = [
                line
                for line in head.text.lstrip("\ufeff").splitlines()[:40]
                if line.strip() and not _VERBOSE.match(line)
            ]
            is_stream = sum(bool(_FIELD.match(line)) for line in lines) > 0.8 * len(lines)
            return 70 if is_stream and (not head.whole or _says(head.text)) else 0
        if head.shape == "object" and "model" not in head.keys:
            return 0
        objects, listed = head.objects, head.shape in ("array", "lines")
        known = sum(is_event(value) or is_of("ollama", [value]) for value in objects)
        is_known = known and known + sum("error" in value for value in objects) >= len(objects)
        if is_known or (listed and objects and (2 * known > len(objects) or are_pieces(objects))):
            return 85
        return 82 if listed and 3 * sum(map(bool, map(wrapped_event, objects))) > len(objects) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.shape == "object" or (head.shape == "array" and is_of("ollama", head.objects)):
            yield SessionEntries(source.stem, entries_of(source, head))  # answers that were not streamed
            return
        with as_lines(source, head) as (recoded, problems):
            yield from problems
            yield SessionEntries(source.stem, _streams(recoded, recoded is not source))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
        if "stream" not in entry:
            return exchange(None, entry, conversation)
        written = str(entry.get("stream") or "")
        turns = _exchanged(None, written, conversation)
        is_known = any(turn.kind in MODEL_KINDS for turn in turns) or parsed_body(written) is not None
        if not is_known and (guess := _guessed(written)) is not None:
            words = (
                f"no provider's stream is known that looks like this; what stands under {guess[0]!r} is put together"
            )
            note_once(words, conversation)
            return [*text_turns(guess[1], "assistant", conversation), *turns]
        if not turns:
            conversation.notes.append("no provider's stream is known that looks like this; kept as an event")
        return turns


def _guessed(written: str) -> tuple[str, str] | None:
    """Of a stream that nobody knows: where its events add a text, and what these come to."""
    plain = plain_stream(written)
    return ("data:", plain) if plain else guessed_stream([event for _, event in chunks(written)])


def _says(written: str) -> bool:
    """Whether a stream's events say something, by what is known or by what most of them have."""
    has_error = any("error" in as_object(event) for _, event in chunks(written))
    return has_error or parsed_body(written) is not None or _guessed(written) is not None


def _exchanged(request: Any, response: Any, conversation: Conversation) -> list[Turn]:
    """The turns of what came from one program, which may name its model in the first answer alone."""
    before = conversation.model
    turns = http_turns(HttpExchange("", request, response), conversation)
    conversation.model = conversation.model or before
    return [filled(turn, model=before) if turn.kind in MODEL_KINDS else turn for turn in turns]


def _streams(source: Source, is_list: bool) -> Entries:
    """Each stream as one entry: up to the event that ends it, or before the one that begins the next.

    Those that are written in turn are one entry together, which is as long as 16 MB.
    """
    lines, first, number, begun = list[bytes](), source.start, 1, False
    waiting, ended = set[bytes](), set[bytes]()
    for count, (at, line) in enumerate(source.lines(), start=1):
        if isinstance(line, Cut):
            yield Problem(f"byte {at}", too_long(at))
            continue
        ident = match[1] if (match := _IDENT.match(line)) else b""
        is_other = bool(ident) and bool(ended) and ident not in ended and not waiting
        if begun and (is_other or _BEGINS.match(line)):
            yield _stream(source, lines, f"[{number - 1}]" if is_list else f"byte {first}", first)
            lines, first, number, begun, waiting, ended = [], at, count, False, set(), set()
        lines.append(line)
        begun = begun or b"{" in line or (line.startswith(b"data:") and not _ENDS.match(line))
        if ident:
            (ended if _FINISHED.search(line) else waiting).add(ident)
            waiting -= ended
        if begun and ((_ENDS.match(line) and not waiting) or at - first > MOST_STREAM):
            yield _stream(source, lines, f"[{number - 1}]" if is_list else f"byte {first}", first)
            lines, first, number, begun, waiting, ended = [], at + len(line), count + 1, False, set(), set()
    if begun:
        yield _stream(source, lines, f"[{number - 1}]" if is_list else f"byte {first}", first)


def _stream(source: Source, lines: list[bytes], place: str, at: int) -> Entry:
    return place, {"stream": source.decode(b"".join(lines), at)}


class GeminiResponses(Declared):
    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        yield SessionEntries(source.stem, _answers(entries_of(source, head)))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
        turns = _exchanged(entry.get("request"), entry.get("response", entry), conversation)
        return or_failure(entry, turns, "response", conversation)


def _answers(entries: Entries) -> Entries:
    """The entries, with the chunks of each stream as one: all of its id up to the one that says why it ended."""
    chunks: dict[str | None, list[Entry]] = {}
    for entry in entries:
        if isinstance(entry, Problem) or "candidates" not in entry[1]:
            yield entry
            continue
        ident = id_text(entry[1].get("responseId"))
        chunks.setdefault(ident, []).append(entry)
        if any(as_object(candidate).get("finishReason") for candidate in as_list(entry[1]["candidates"])):
            yield _as_one(chunks.pop(ident))
    yield from map(_as_one, chunks.values())


def _as_one(chunks: list[Entry]) -> Entry:
    at, value = chunks[0]
    return (at, value) if len(chunks) == 1 else (at, {"response": [chunk for _, chunk in chunks]})


_MESSAGES = ("assistant", "user")


@dataclass(slots=True)
class _Stream(Declaring):
    branches: dict[str, int] = field(default_factory=dict)
    """the subagent's number by the id of the call that started it"""
    counted: set[str] = field(default_factory=set)
    """the messages whose usage was counted; a message comes in several lines, a block each"""
    answer: str | None = None
    """the last answer, which the result repeats"""


class ClaudeStream(Declared):
    conversation_type = _Stream

    def read_entry(self, entry: dict[str, Any], conversation: _Stream) -> list[Turn]:  # type: ignore[override]
        kind = entry.get("type")
        if kind == "stream_event":
            delta = as_object(as_object(entry.get("event")).get("delta"))
            conversation.begun.setdefault("", []).append(first_text(delta, "text", "partial_json") or "")
        if kind == "assistant" and _is_part(entry):
            conversation.begun.setdefault("", []).append(joined(content(entry["message"].get("content"))) or "")
            return event_turns("assistant/part")
        if kind in _MESSAGES and isinstance(entry.get("message"), dict):
            return _message(entry, conversation)
        if kind == "tool_call":
            return _tool_call(entry, conversation)
        if kind == "result":
            return _result(entry, conversation)
        conversation.model = text(entry.get("model")) or conversation.model
        role = "/".join(name for key in ("type", "subtype") if (name := text(entry.get(key))))
        return event_turns(role or None)


def _is_part(entry: dict[str, Any]) -> bool:
    """A piece of an answer, as Cursor's agent prints it with --stream-partial-output before the whole."""
    return "timestamp_ms" in entry and "model_call_id" not in entry and isinstance(entry.get("message"), dict)


def _message(entry: dict[str, Any], stream: _Stream) -> list[Turn]:
    message = {"role": entry["type"], **entry["message"]}
    ident, once = id_text(message.get("id")), {}
    if ident is None or ident not in stream.counted:
        once = spent(message.get("usage"))
        stream.counted.add(ident or "")
    turns = message_turns(message, stream, once=once, model=text(message.get("model")))
    stream.answer = next((turn.raw for turn in turns if turn.kind == "response"), stream.answer)
    parent = text(entry.get("parent_tool_use_id"))
    branch = stream.branches.setdefault(parent, len(stream.branches) + 1) if parent else None
    return each_with([*_left_over(stream, turns), *turns], sounding=branch)


def _left_over(stream: _Stream, turns: list[Turn]) -> list[Turn]:
    """What came in parts and does not come whole: an answer before what comes now."""
    raw = "".join(stream.begun.pop("", []))
    whole = "".join(turn.raw or "" for turn in turns)
    if not raw.strip() or raw in whole or (whole and raw.startswith(whole)):
        return []
    if any(turn.role == "thinking" or turn.kind == "tool_call" for turn in turns):
        return []  # a block of the same message, whose parts are of other kinds
    stream.answer = raw
    return text_turns(raw, "assistant", stream)


def _tool_call(entry: dict[str, Any], stream: _Stream) -> list[Turn]:
    """A call of Cursor's agent, begun or ended, `{nameToolCall: {args, result}}`; its stream is Claude Code's else."""
    name, inner = next(iter(as_object(entry.get("tool_call")).items()), ("", None))
    ident, subtype = id_text(entry.get("call_id")), text(entry.get("subtype"))
    function = as_object(inner)
    called = text(function.get("name")) or name.removesuffix("ToolCall")
    key = "args" if "args" in function else "arguments"
    parts = []
    if ident is None or ident not in stream.called:
        call = {"id": ident, "name": called, "arguments": function.get(key)}
        parts.append(Piece.of_call(function.get(key), called, ident, call))
        stream.called.add(ident or "")
    if subtype != "started" and function.get("result") is not None:
        parts.append(Piece.of_result(function["result"], called, ident))
    return turns_of(parts, "assistant", stream) if parts else event_turns(f"tool_call/{subtype}")


def _result(entry: dict[str, Any], stream: _Stream) -> list[Turn]:
    """What the run came to: the answer again, its cost, or the error that ended it."""
    raw = text(entry.get("result"))
    failed = entry.get("is_error") is True
    if not raw and not failed and stream.answer is None and not stream.tools:  # it stands in no call before
        raw = text_or_json(entry.get("structured_output"))
    if raw is None or (raw == stream.answer and not failed):
        raw = _failure(entry) if failed else None
    kind: Kind = "error" if failed else "event" if raw is None or stream.answer is not None else "response"
    role = {"error": "error", "event": "result"}.get(kind, "assistant")
    model = stream.model if kind == "response" else None
    return [Turn(0, kind, raw, role, model=model, cost=number(entry.get("total_cost_usd")))]


def _failure(entry: dict[str, Any]) -> str | None:
    """What a result says of its failure: an error, a list of them, or its kind alone."""
    errors = [raw for error in as_list(entry.get("errors")) if (raw := text_or_json(error))]
    return text(as_object(entry.get("error")).get("message")) or "\n".join(errors) or text(entry.get("subtype"))


plugins = (SseText(), GeminiResponses("gemini_responses"), ClaudeStream("claude_stream"))
