"""Streamed answers saved as they came: server-sent events (`curl -N`), chunks one a line, Ollama's lines."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from webapp import jsontext
from webapp.dumps.base import BadEntry, Conversation, DumpHead, Entries, Entry, Format, PlacedTurn, Source
from webapp.dumps.messages.bodies import answer, exchange
from webapp.dumps.messages.streams import assembled, ends_early, stream_faults
from webapp.dumps.messages.turns import unplaced
from webapp.dumps.messages.ui_streams import is_data_stream
from webapp.dumps.records import Problem, Turn
from webapp.dumps.sessions import SessionEntries, Sessions, entries_of
from webapp.dumps.source import Cut, too_long
from webapp.dumps.values import first_text

_EVENTS = (
    *("message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta"),
    *("message_stop", "ping"),
)
_FIELD = re.compile(r"(?:data|event|id|retry)?:")
_HTTP = re.compile(r"\AHTTP/[\d.]+ \d+[^\n]*\n(?:[\w-]+:[^\n]*\n)*\s*")
"""what `curl -i` prints before the body"""
_VERBOSE = re.compile(r"[*<>{}](?: |$)|[ \d]{1,3} [ \d.]+[kMG]? |  % Total")
"""what `curl -v` prints around it"""
_DATA = re.compile(r"(?:\A|\n)data:\s*(?:\{|\[DONE\])")
_BEGINS = re.compile(rb'\s*(?:data:|\{).{,200}"type"\s*:\s*"(?:message_start|response\.created)"')
_ENDS = re.compile(
    rb'\s*data:\s*\[DONE\]|\s*(?:data:|\{).*"type"\s*:\s*"(?:message_stop|response\.completed|message-end)"'
    rb'|.*"(?:done|is_finished)"\s*:\s*true'
)
_MOST = 16 * 1024 * 1024
"""bytes of one stream"""


class SseText(Format):
    shapes = "a stream saved as text (data: {…} lines, chunks one a line)"

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "text" and is_data_stream(head.text):
            return 70
        if head.shape == "text" and _DATA.search(head.text):
            body = _HTTP.sub("", head.text.lstrip("\ufeff"))
            lines = [line for line in body.splitlines()[:40] if line.strip() and not _VERBOSE.match(line)]
            return 70 if sum(bool(_FIELD.match(line)) for line in lines) > 0.8 * len(lines) else 0
        if head.shape == "object" and "model" not in head.keys:
            return 0
        if head.shape == "array":
            return 85 if head.objects and (_all(_is_ollama, head) or _all(_is_chat_chunk, head)) else 0
        if head.shape == "lines" and head.objects and _all(_is_event, head):
            return 85
        chunks = sum(map(_is_chunk, head.objects)) if head.shape in ("lines", "object") else 0
        return 85 if chunks and chunks + sum("error" in value for value in head.objects) >= len(head.objects) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.shape == "array" and _all(_is_chat_chunk, head):
            yield SessionEntries(source.stem, _as_stream(entries_of(source, head)))
        elif head.shape in ("object", "array"):  # an answer that was not streamed, pretty-printed
            yield SessionEntries(source.stem, entries_of(source, head))
        else:
            yield SessionEntries(source.stem, _streams(source))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        if "stream" not in entry:
            return exchange(None, entry, (), (), conversation)
        stream = str(entry.get("stream") or "")
        body = assembled(stream)
        conversation.model = first_text(body, "model", "modelVersion", "model_version") or conversation.model
        turns = unplaced(answer(body, (), conversation)) if body is not None else []
        errors, damaged = stream_faults(stream)
        if damaged:
            conversation.notes.append(f"{damaged} lines of the stream are cut or damaged; the others were read")
        if ends_early(stream) and turns:
            conversation.notes.append("the stream ends before its answer does; what came of it was read")
        turns += [(Turn(0, "error", raw=error, role="provider"), None) for error in errors]
        if not turns:
            raise BadEntry("no provider's stream is known that looks like this")
        return turns


plugin = SseText()


def _is_event(value: dict[str, Any]) -> bool:
    """An event of Anthropic's stream, or of the Responses API's, without the `data:` before it."""
    kind = str(value.get("type"))
    if kind.startswith("response.") and kind.count(".") >= 1:
        return "sequence_number" in value or bool(value.keys() & {"response", "item", "delta", "part", "text"})
    return kind in _EVENTS and bool(value.keys() & {"message", "index", "delta"} or kind in ("ping", "message_stop"))


def _is_chunk(value: dict[str, Any]) -> bool:
    if "event_type" in value and isinstance(value.get("is_finished"), bool):  # Cohere's older stream
        return True
    return _is_ollama(value) or _is_chat_chunk(value)


def _is_chat_chunk(value: dict[str, Any]) -> bool:
    return value.get("object") in ("chat.completion.chunk", "text_completion.chunk")


def _all(fits: Callable[[dict[str, Any]], bool], head: DumpHead) -> bool:
    return all(map(fits, head.objects))


def _as_stream(entries: Entries) -> Entries:
    """The chunks of a list, as lines of one stream each: an answer ends where the next has another id."""
    run: list[dict[str, Any]] = []
    first = ""
    for entry in entries:
        if isinstance(entry, Problem):
            yield entry
            continue
        if run and entry[1].get("id") != run[0].get("id"):
            yield first, {"stream": "\n".join(map(jsontext.dumps, run))}
            run = []
        first = first if run else entry[0]
        run.append(entry[1])
    if run:
        yield first, {"stream": "\n".join(map(jsontext.dumps, run))}


def _is_ollama(value: dict[str, Any]) -> bool:
    return isinstance(value.get("done"), bool) and ("response" in value or "message" in value)


def _streams(source: Source) -> Entries:
    """Each stream as one entry: up to the event that ends it, or before the one that begins the next."""
    lines, first, begun = list[bytes](), source.start, False
    for at, line in source.lines():
        if isinstance(line, Cut):
            yield Problem(f"byte {at}", too_long(at))
            continue
        if begun and _BEGINS.match(line):
            yield _stream(source, lines, first)
            lines, first, begun = [], at, False
        lines.append(line)
        begun = begun or b"{" in line
        if begun and (_ENDS.match(line) or at - first > _MOST):
            yield _stream(source, lines, first)
            lines, first, begun = [], at + len(line), False
    if begun:
        yield _stream(source, lines, first)


def _stream(source: Source, lines: list[bytes], at: int) -> Entry:
    return f"byte {at}", {"stream": source.decode(b"".join(lines), at)}
