"""Streamed answers saved as they came: server-sent events (`curl -N`), chunks one a line, Ollama's and Google's."""

from __future__ import annotations

import re
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entries, Entry, Format, SessionEntries, Sessions, Source
from webapp.dumps.declared import Declared
from webapp.dumps.documents import as_lines, entries_of
from webapp.dumps.messages.block_streams import are_parts, is_ollama
from webapp.dumps.messages.exchanges import exchange, or_failure
from webapp.dumps.messages.http import HttpExchange, http_turns
from webapp.dumps.messages.streams import MOST_STREAM, chunks, is_data_stream, is_event, parsed_body, wrapped_event
from webapp.dumps.messages.text_streams import are_pieces, guessed_stream
from webapp.dumps.messages.turns import filled, note_once, text_turns
from webapp.dumps.records import MODEL_KINDS, Problem, Turn
from webapp.dumps.source import Cut, too_long
from webapp.dumps.values import as_list, as_object, id_text

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
        if head.shape == "text" and _DATA.search(head.text):
            lines = [
                line
                for line in head.text.lstrip("\ufeff").splitlines()[:40]
                if line.strip() and not _VERBOSE.match(line)
            ]
            is_stream = sum(bool(_FIELD.match(line)) for line in lines) > 0.8 * len(lines)
            return 70 if is_stream and (not head.whole or _says(head.text)) else 0
        if head.shape == "object" and "model" not in head.keys:
            return 0
        objects = head.objects
        if head.shape in ("array", "lines") and objects:
            if 2 * sum(map(is_event, objects)) > len(objects) or are_parts(objects) or are_pieces(objects):
                return 85
            if 3 * sum(map(bool, map(wrapped_event, objects))) > len(objects):
                return 82
        if head.shape == "array":
            return 85 if objects and all(map(is_ollama, objects)) else 0
        if head.shape not in ("lines", "object"):
            return 0
        chunks = sum(is_ollama(value) or is_event(value) for value in objects)
        return 85 if chunks and chunks + sum("error" in value for value in objects) >= len(objects) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.shape == "object" or (head.shape == "array" and all(map(is_ollama, head.objects))):
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
        if not is_known and (guess := guessed_stream([event for _, event in chunks(written)])) is not None:
            words = (
                f"no provider's stream is known that looks like this; what stands under {guess[0]!r} is put together"
            )
            note_once(words, conversation)
            return [*text_turns(guess[1], "assistant", conversation), *turns]
        if not turns:
            conversation.notes.append("no provider's stream is known that looks like this; kept as an event")
        return turns


def _says(written: str) -> bool:
    """Whether a stream's events say something, by what is known or by what most of them have."""
    events = [event for _, event in chunks(written)]
    return (
        parsed_body(written) is not None
        or guessed_stream(events) is not None
        or any("error" in as_object(event) for event in events)
    )


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
        begun = begun or b"{" in line
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


plugins = (SseText(), GeminiResponses("gemini_responses"))
