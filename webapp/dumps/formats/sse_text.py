"""Streamed answers saved as they came: server-sent events (`curl -N`), chunks one a line, Ollama's lines."""

from __future__ import annotations

import re
from typing import Any

from webapp.dumps.base import BadEntry, Conversation, DumpHead, Entries, Entry, Format, Source
from webapp.dumps.documents import as_lines
from webapp.dumps.messages.beside import hosts_of
from webapp.dumps.messages.block_streams import are_parts, is_data_stream
from webapp.dumps.messages.bodies import answer, exchange
from webapp.dumps.messages.declarations import declared_in
from webapp.dumps.messages.requests import noted_answers
from webapp.dumps.messages.streams import MOST_STREAM, assembled, ends_early, is_event, stream_faults, wrapped_event
from webapp.dumps.records import Problem, Turn
from webapp.dumps.sessions import SessionEntries, Sessions, entries_of
from webapp.dumps.source import LINE, Cut, Place, too_long
from webapp.dumps.values import as_object, first_text

_FIELD = re.compile(r"(?:data|event|id|retry)?:")
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
            return 70 if sum(bool(_FIELD.match(line)) for line in lines) > 0.8 * len(lines) else 0
        if head.shape == "object" and "model" not in head.keys:
            return 0
        if head.shape in ("array", "lines") and 2 * sum(map(is_event, head.objects)) > len(head.objects):
            return 85
        if head.shape in ("array", "lines") and head.objects and are_parts(head.objects):
            return 85
        if head.shape in ("array", "lines") and 3 * sum(map(bool, map(wrapped_event, head.objects))) > len(
            head.objects
        ):
            return 82
        if head.shape == "array":
            return 85 if head.objects and all(map(_is_ollama, head.objects)) else 0
        chunks = sum(map(_is_chunk, head.objects)) if head.shape in ("lines", "object") else 0
        return 85 if chunks and chunks + sum("error" in value for value in head.objects) >= len(head.objects) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.shape == "object" or (head.shape == "array" and all(map(_is_ollama, head.objects))):
            yield SessionEntries(source.stem, entries_of(source, head))  # answers that were not streamed
            return
        with as_lines(source, head) as (recoded, problems, place):
            yield from problems
            yield SessionEntries(source.stem, _streams(recoded, None if place is LINE else place))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
        if "stream" not in entry:
            return exchange(None, entry, conversation)
        stream = str(entry.get("stream") or "")
        body = assembled(stream)
        first = body[0] if isinstance(body, list) and body else body
        conversation.model = first_text(first, "model", "modelVersion", "model_version") or conversation.model
        conversation.hosts = hosts_of(first)
        repeats_request = as_object(first).get("object") == "response"  # Responses tell what they were asked for
        conversation.declares(declared_in(first) if repeats_request else None)
        answers = [] if body is None else answer(body, conversation)
        turns = noted_answers(answers, conversation)
        errors, damaged = stream_faults(stream)
        if damaged:
            conversation.notes.append(f"{damaged} lines of the stream are cut or damaged; the others were read")
        if ends_early(stream) and turns:
            conversation.notes.append("the stream ends before its answer does; what came of it was read")
        turns += [Turn(0, "error", raw=error, role="provider") for error in errors]
        if not turns:
            raise BadEntry("no provider's stream is known that looks like this")
        return turns


plugin = SseText()


def _is_chunk(value: dict[str, Any]) -> bool:
    return _is_ollama(value) or is_event(value)


def _is_ollama(value: dict[str, Any]) -> bool:
    return isinstance(value.get("done"), bool) and ("response" in value or "message" in value)


def _streams(source: Source, place: Place | None) -> Entries:
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
            yield _stream(source, lines, place(number) if place else f"byte {first}", first)
            lines, first, number, begun, waiting, ended = [], at, count, False, set(), set()
        lines.append(line)
        begun = begun or b"{" in line
        if ident:
            (ended if _FINISHED.search(line) else waiting).add(ident)
            waiting -= ended
        if begun and ((_ENDS.match(line) and not waiting) or at - first > MOST_STREAM):
            yield _stream(source, lines, place(number) if place else f"byte {first}", first)
            lines, first, number, begun, waiting, ended = [], at + len(line), count + 1, False, set(), set()
    if begun:
        yield _stream(source, lines, place(number) if place else f"byte {first}", first)


def _stream(source: Source, lines: list[bytes], place: str, at: int) -> Entry:
    return place, {"stream": source.decode(b"".join(lines), at)}
